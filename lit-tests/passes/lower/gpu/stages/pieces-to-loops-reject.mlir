// RUN: %xyntra-opt %s --pieces-to-loops --split-input-file | FileCheck %s

#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>

// The second piece comes from other memory.
// CHECK-LABEL: func.func @two_sources(
// CHECK-COUNT-3: linalg.generic
// CHECK: return
func.func @two_sources(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %sums: memref<4xf32>) {
  %rows = memref.alloc() : memref<4x16xf32>
  %p = memref.subview %rows[0, 0] [4, 8] [1, 1] : memref<4x16xf32> to memref<4x8xf32, strided<[16, 1]>>
  %q = memref.subview %rows[0, 8] [4, 8] [1, 1] : memref<4x16xf32> to memref<4x8xf32, strided<[16, 1], offset: 8>>
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<4x8xf32>) outs(%p : memref<4x8xf32, strided<[16, 1]>>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%y : memref<4x8xf32>) outs(%q : memref<4x8xf32, strided<[16, 1], offset: 8>>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%rows : memref<4x16xf32>) outs(%sums : memref<4xf32>) {
  ^bb0(%in: f32, %o: f32):
    %t = arith.addf %o, %in : f32
    linalg.yield %t : f32
  }
  return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>

// No reduction reads it: those that do are given the pieces.
// CHECK-LABEL: func.func @elementwise(
// CHECK-COUNT-3: linalg.generic
// CHECK: return
func.func @elementwise(%x: memref<4x16xf32>, %y: memref<4x16xf32>) {
  %rows = memref.alloc() : memref<4x16xf32>
  %a = memref.subview %x[0, 0] [4, 8] [1, 1] : memref<4x16xf32> to memref<4x8xf32, strided<[16, 1]>>
  %b = memref.subview %x[0, 8] [4, 8] [1, 1] : memref<4x16xf32> to memref<4x8xf32, strided<[16, 1], offset: 8>>
  %p = memref.subview %rows[0, 8] [4, 8] [1, 1] : memref<4x16xf32> to memref<4x8xf32, strided<[16, 1], offset: 8>>
  %q = memref.subview %rows[0, 0] [4, 8] [1, 1] : memref<4x16xf32> to memref<4x8xf32, strided<[16, 1]>>
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<4x8xf32, strided<[16, 1]>>) outs(%p : memref<4x8xf32, strided<[16, 1], offset: 8>>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%b : memref<4x8xf32, strided<[16, 1], offset: 8>>) outs(%q : memref<4x8xf32, strided<[16, 1]>>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%rows : memref<4x16xf32>) outs(%y : memref<4x16xf32>) {
  ^bb0(%in: f32, %o: f32):
    %t = arith.negf %in : f32
    linalg.yield %t : f32
  }
  return
}

// -----

// Loops that are no linalg.generic read what others have filled: nothing is known of them.
// CHECK-LABEL: func.func @other_loops(
// CHECK-COUNT-2: linalg.generic
// CHECK: scf.for
// CHECK: return
func.func @other_loops(%x: memref<2x8xf32>, %y: memref<16xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 16 : index
  %t = memref.alloc() : memref<16xf32>
  %a = memref.reinterpret_cast %x to offset: [0], sizes: [8], strides: [1] : memref<2x8xf32> to memref<8xf32, strided<[1]>>
  %b = memref.reinterpret_cast %x to offset: [8], sizes: [8], strides: [1] : memref<2x8xf32> to memref<8xf32, strided<[1], offset: 8>>
  %p = memref.subview %t[0] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1]>>
  %q = memref.subview %t[8] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 8>>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%b : memref<8xf32, strided<[1], offset: 8>>) outs(%p : memref<8xf32, strided<[1]>>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a : memref<8xf32, strided<[1]>>) outs(%q : memref<8xf32, strided<[1], offset: 8>>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  scf.for %i = %zero to %end step %one {
    %s = memref.load %t[%i] : memref<16xf32>
    memref.store %s, %y[%i] : memref<16xf32>
  }
  return
}
