// RUN: %xyntra-opt %s --strided-copies | FileCheck %s

// Between contiguous buffers a copy becomes one memcpy.
// CHECK-LABEL: func.func @contiguous(
// CHECK-NEXT: memref.copy {{%.+}}, {{%.+}} : memref<4x8xf32> to memref<4x8xf32>
// CHECK-NEXT: memref.copy {{%.+}}, {{%.+}} : memref<f32> to memref<f32>
// CHECK-NEXT: return
func.func @contiguous(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %p: memref<f32>, %q: memref<f32>) {
  memref.copy %x, %y : memref<4x8xf32> to memref<4x8xf32>
  memref.copy %p, %q : memref<f32> to memref<f32>
  return
}
