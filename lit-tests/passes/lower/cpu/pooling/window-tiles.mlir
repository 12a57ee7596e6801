// RUN: %xyntra-opt %s --schedule-nests --window-tiles | FileCheck %s

#id = affine_map<(n, y, x, c) -> (n, y, x, c)>
#read = affine_map<(n, y, x, c, i, j) -> (n, y + i, x + j, c)>
#weight = affine_map<(n, y, x, c, i, j) -> (c, i, j)>
#write = affine_map<(n, y, x, c, i, j) -> (n, y, x, c)>

// The image is read without its frame of zeros, of which nothing is written; weights are brought
// into the order of channels once.
// CHECK-LABEL: func.func @depthwise.prepare(
// CHECK: memref.store {{.+}} : memref<144xf32>
// CHECK-LABEL: func.func @depthwise(
// CHECK-NOT: linalg.generic
// CHECK: vector.load {{.+}} : memref<1600xf32>, vector<8xf32>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @depthwise(%x: memref<1x10x10x16xf32>, %w: memref<16x3x3xf32> {xyntra.constant}, %y: memref<1x10x10x16xf32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "conv"}>} {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<1x12x12x16xf32>
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%p : memref<1x12x12x16xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  %v = memref.subview %p[0, 1, 1, 0] [1, 10, 10, 16] [1, 1, 1, 1] : memref<1x12x12x16xf32> to memref<1x10x10x16xf32, strided<[2304, 192, 16, 1], offset: 208>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : memref<1x10x10x16xf32>) outs(%v : memref<1x10x10x16xf32, strided<[2304, 192, 16, 1], offset: 208>>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%y : memref<1x10x10x16xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#read, #weight, #write], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %w : memref<1x12x12x16xf32>, memref<16x3x3xf32>) outs(%y : memref<1x10x10x16xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}

#first = affine_map<(n, c, y, x) -> (n, c, y, x)>
#strided = affine_map<(n, c, y, x, i, j) -> (n, c, y * 2 + i, x * 2 + j)>
#taps = affine_map<(n, c, y, x, i, j) -> (c, i, j)>
#result = affine_map<(n, c, y, x, i, j) -> (n, c, y, x)>

// Windows that stride along a row: its even and odd elements are parted first.
// CHECK-LABEL: func.func @strided_rows(
// CHECK: memref.alloc() : memref<1088xf32>
// CHECK: [[A:%.+]] = vector.load {{.+}} : memref<2178xf32>, vector<8xf32>
// CHECK: [[B:%.+]] = vector.load {{.+}} : memref<2178xf32>, vector<8xf32>
// CHECK: vector.shuffle [[A]], [[B]] [0, 2, 4, 6, 8, 10, 12, 14]
// CHECK: vector.shuffle [[A]], [[B]] [1, 3, 5, 7, 9, 11, 13, 15]
// CHECK: scf.for
// CHECK-COUNT-24: arith.mulf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @strided_rows(%x: memref<1x2x33x33xf32>, %w: memref<2x3x3xf32>, %y: memref<1x2x16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#first], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%y : memref<1x2x16x16xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#strided, #taps, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : memref<1x2x33x33xf32>, memref<2x3x3xf32>) outs(%y : memref<1x2x16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}
