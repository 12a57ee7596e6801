// RUN: %xyntra-opt %s --forward-pieces --split-input-file | FileCheck %s

#mn = affine_map<(m, n) -> (m, n)>
#m = affine_map<(m, n) -> (m)>

// A reduction reads the buffer, which stays.
// CHECK-LABEL: func.func @reduced(
// CHECK: memref.alloc
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @reduced(%x: memref<8x16xf32>, %y: memref<8x8xf32>, %z: memref<8xf32>) {
  %t = memref.alloc() : memref<8x24xf32>
  %left = memref.subview %t[0, 0] [8, 16] [1, 1] : memref<8x24xf32> to memref<8x16xf32, strided<[24, 1]>>
  linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<8x16xf32>) outs(%left : memref<8x16xf32, strided<[24, 1]>>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  %right = memref.subview %t[0, 16] [8, 8] [1, 1] : memref<8x24xf32> to memref<8x8xf32, strided<[24, 1], offset: 16>>
  linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%y : memref<8x8xf32>) outs(%right : memref<8x8xf32, strided<[24, 1], offset: 16>>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  linalg.generic {indexing_maps = [#mn, #m], iterator_types = ["parallel", "reduction"]}
      ins(%t : memref<8x24xf32>) outs(%z : memref<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#i = affine_map<(i) -> (i)>

// What the pieces are made of is written over before the buffer is read.
// CHECK-LABEL: func.func @changed(
// CHECK: memref.alloc
// CHECK-COUNT-4: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @changed(%x: memref<8xf32>, %z: memref<16xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<16xf32>
  %left = memref.subview %t[0] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1]>>
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%x : memref<8xf32>) outs(%left : memref<8xf32, strided<[1]>>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  %right = memref.subview %t[8] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 8>>
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%x : memref<8xf32>) outs(%right : memref<8xf32, strided<[1], offset: 8>>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]} outs(%x : memref<8xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%t : memref<16xf32>) outs(%z : memref<16xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.negf %p : f32
    linalg.yield %s : f32
  }
  return
}
