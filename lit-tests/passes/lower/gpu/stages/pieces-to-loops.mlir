// RUN: %xyntra-opt %s --pieces-to-loops | FileCheck %s

#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>

// Rows of two pixels of one row and two of the next one, four copies: one has a loop for either.
// CHECK-LABEL: func.func @merged(
// CHECK: memref.reinterpret_cast %arg0 to offset: [0], sizes: [4, 2, 2, 8], strides: [16, 8, 64, 1]
// CHECK: memref.reinterpret_cast %alloc to offset: [0], sizes: [4, 2, 2, 8], strides: [32, 16, 8, 1]
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "parallel"]
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @merged(%x: memref<2x64xf32>, %sums: memref<4xf32>) {
  %rows = memref.alloc() : memref<4x32xf32>
  %a = memref.reinterpret_cast %x to offset: [0], sizes: [4, 8], strides: [16, 1] : memref<2x64xf32> to memref<4x8xf32, strided<[16, 1]>>
  %b = memref.reinterpret_cast %x to offset: [64], sizes: [4, 8], strides: [16, 1] : memref<2x64xf32> to memref<4x8xf32, strided<[16, 1], offset: 64>>
  %c = memref.reinterpret_cast %x to offset: [8], sizes: [4, 8], strides: [16, 1] : memref<2x64xf32> to memref<4x8xf32, strided<[16, 1], offset: 8>>
  %d = memref.reinterpret_cast %x to offset: [72], sizes: [4, 8], strides: [16, 1] : memref<2x64xf32> to memref<4x8xf32, strided<[16, 1], offset: 72>>
  %p = memref.subview %rows[0, 0] [4, 8] [1, 1] : memref<4x32xf32> to memref<4x8xf32, strided<[32, 1]>>
  %q = memref.subview %rows[0, 8] [4, 8] [1, 1] : memref<4x32xf32> to memref<4x8xf32, strided<[32, 1], offset: 8>>
  %r = memref.subview %rows[0, 16] [4, 8] [1, 1] : memref<4x32xf32> to memref<4x8xf32, strided<[32, 1], offset: 16>>
  %s = memref.subview %rows[0, 24] [4, 8] [1, 1] : memref<4x32xf32> to memref<4x8xf32, strided<[32, 1], offset: 24>>
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<4x8xf32, strided<[16, 1]>>) outs(%p : memref<4x8xf32, strided<[32, 1]>>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%b : memref<4x8xf32, strided<[16, 1], offset: 64>>) outs(%q : memref<4x8xf32, strided<[32, 1], offset: 8>>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%c : memref<4x8xf32, strided<[16, 1], offset: 8>>) outs(%r : memref<4x8xf32, strided<[32, 1], offset: 16>>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%d : memref<4x8xf32, strided<[16, 1], offset: 72>>) outs(%s : memref<4x8xf32, strided<[32, 1], offset: 24>>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%rows : memref<4x32xf32>) outs(%sums : memref<4xf32>) {
  ^bb0(%in: f32, %o: f32):
    %t = arith.addf %o, %in : f32
    linalg.yield %t : f32
  }
  return
}
