// RUN: %xyntra-opt %s --forward-pieces --split-input-file | FileCheck %s

#mn = affine_map<(m, n) -> (m, n)>

// What reads a concatenation is cut in two, and reads what was concatenated.
// CHECK-LABEL: func.func @concatenated(
// CHECK: memref.reinterpret_cast %arg0 to offset: [0], sizes: [8, 16], strides: [16, 1]
// CHECK: memref.reinterpret_cast %arg2 to offset: [0], sizes: [8, 16], strides: [24, 1]
// CHECK: linalg.generic
// CHECK: arith.negf
// CHECK: arith.mulf
// CHECK: memref.reinterpret_cast %arg1 to offset: [0], sizes: [8, 8], strides: [8, 1]
// CHECK: memref.reinterpret_cast %arg2 to offset: [16], sizes: [8, 8], strides: [24, 1]
// CHECK: linalg.generic
// CHECK-NOT: arith.negf
// CHECK: arith.mulf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @concatenated(%x: memref<8x16xf32>, %y: memref<8x8xf32>, %z: memref<8x24xf32>) {
  %two = arith.constant 2.0 : f32
  %t = memref.alloc() : memref<8x24xf32>
  %left = memref.subview %t[0, 0] [8, 16] [1, 1] : memref<8x24xf32> to memref<8x16xf32, strided<[24, 1]>>
  linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<8x16xf32>) outs(%left : memref<8x16xf32, strided<[24, 1]>>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.negf %p : f32
    linalg.yield %s : f32
  }
  %right = memref.subview %t[0, 16] [8, 8] [1, 1] : memref<8x24xf32> to memref<8x8xf32, strided<[24, 1], offset: 16>>
  linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%y : memref<8x8xf32>) outs(%right : memref<8x8xf32, strided<[24, 1], offset: 16>>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%t : memref<8x24xf32>) outs(%z : memref<8x24xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.mulf %p, %two : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#i = affine_map<(i) -> (i)>

// What is written over later is not written: three elements before the slice, and five behind it.
// CHECK-LABEL: func.func @padded(
// CHECK: sizes: [3], strides: [1]
// CHECK: offset: [11], sizes: [5], strides: [1]
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @padded(%x: memref<8xf32>, %y: memref<16xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]} outs(%y : memref<16xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  %inside = memref.subview %y[3] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 3>>
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%x : memref<8xf32>) outs(%inside : memref<8xf32, strided<[1], offset: 3>>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  return
}
