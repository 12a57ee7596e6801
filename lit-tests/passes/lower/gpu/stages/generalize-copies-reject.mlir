// RUN: %xyntra-opt %s --generalize-copies --split-input-file --verify-diagnostics | FileCheck %s

#i = affine_map<(i) -> (i)>

// What is a loop already stays as it is, also where it copies.
// CHECK-LABEL: func.func @loops(
// CHECK-NEXT: linalg.generic
// CHECK: scf.for
// CHECK-NEXT: memref.load
// CHECK-NEXT: memref.store
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @loops(%x: memref<64xf32>, %y: memref<64xf32>) {
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%x : memref<64xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    %p = memref.load %y[%i] : memref<64xf32>
    memref.store %p, %x[%i] : memref<64xf32>
  }
  return
}

// -----

// A tensor is no memory that is copied.
// CHECK-LABEL: func.func @tensors(
// CHECK-NEXT: bufferization.materialize_in_destination
// CHECK-NEXT: return
func.func @tensors(%x: tensor<64xf32>, %y: memref<64xf32>) {
  bufferization.materialize_in_destination %x in restrict writable %y : (tensor<64xf32>, memref<64xf32>) -> ()
  return
}

// -----

// A module holds one kernel.
// expected-error @unknown {{a kernel module holds one func.func, not 0}}
func.func private @declared(memref<4xf32>)
