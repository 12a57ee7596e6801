// RUN: %xyntra-opt %s --empty-arguments --split-input-file --verify-diagnostics | FileCheck %s

// Scalars in memory have an element.
// CHECK-LABEL: func.func @filled(%{{[a-z0-9]+}}: memref<f32>, %{{[a-z0-9]+}}: memref<1x2xi8>) {
// CHECK-NEXT: return
func.func @filled(%x: memref<f32>, %y: memref<1x2xi8>) {
  return
}

// -----

// expected-error @unknown {{tensor<0xf32> is not a memref of static shape}}
func.func @not_bufferized(%x: tensor<0xf32>) {
  return
}

// -----

// expected-error @unknown {{memref<?xf32> is not a memref of static shape}}
func.func @dynamic(%x: memref<?xf32>) {
  return
}

// -----

// expected-error @unknown {{a kernel on buffers returns nothing, but writes its results into arguments}}
func.func @returns(%x: memref<0xf32>) -> memref<0xf32> {
  return %x : memref<0xf32>
}

// -----

// expected-error @unknown {{a kernel has exactly one block}}
func.func @blocks(%x: memref<0xf32>) {
  cf.br ^next
^next:
  return
}
