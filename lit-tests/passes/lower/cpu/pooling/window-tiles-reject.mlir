// RUN: %xyntra-opt %s --schedule-nests --window-tiles | FileCheck %s

#id = affine_map<(n, y, x, c) -> (n, y, x, c)>
#read = affine_map<(n, y, x, c, i, j) -> (n, y + i, x + j, c)>
#weight = affine_map<(n, y, x, c, i, j) -> (c, i, j)>
#write = affine_map<(n, y, x, c, i, j) -> (n, y, x, c)>

// A frame of ones counts, and has to be written.
// CHECK-LABEL: func.func @frame_of_ones(
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: vector.load {{.+}} : memref<2304xf32>, vector<8xf32>
// CHECK: return
func.func @frame_of_ones(%x: memref<1x10x10x16xf32>, %w: memref<16x3x3xf32>, %y: memref<1x10x10x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %p = memref.alloc() : memref<1x12x12x16xf32>
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%p : memref<1x12x12x16xf32>) {
  ^bb0(%o: f32):
    linalg.yield %one : f32
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

#first = affine_map<(n, c, y, x, i, j) -> (n, c, y + i, x + j)>
#kernel = affine_map<(n, c, y, x, i, j) -> (c, i, j)>
#out = affine_map<(n, c, y, x, i, j) -> (n, c, y, x)>

// Channels are not innermost.
// CHECK-LABEL: func.func @channels_first(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @channels_first(%x: memref<1x16x12x12xf32>, %w: memref<16x3x3xf32>, %y: memref<1x16x10x10xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%y : memref<1x16x10x10xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#first, #kernel, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : memref<1x16x12x12xf32>, memref<16x3x3xf32>) outs(%y : memref<1x16x10x10xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}

#column = affine_map<(g, m, y, x, i) -> (g, y + i, x)>
#groups = affine_map<(g, m, y, x, i) -> (g, m, i)>
#image = affine_map<(g, m, y, x, i) -> (g, m, y, x)>

// Weights are those of groups and channels; the loop that elements are neighbours along is neither.
// CHECK-LABEL: func.func @weights_of_groups(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @weights_of_groups(%x: memref<4x5x16xf32>, %w: memref<4x2x2xf32>, %y: memref<4x2x4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%y : memref<4x2x4x16xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#column, #groups, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<4x5x16xf32>, memref<4x2x2xf32>) outs(%y : memref<4x2x4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}

#picture = affine_map<(n, c, y, x) -> (n, c, y, x)>
#apart = affine_map<(n, c, y, x, i, j) -> (n, c, y * 2 + i, x * 2 + j)>
#taps = affine_map<(n, c, y, x, i, j) -> (c, i, j)>
#result = affine_map<(n, c, y, x, i, j) -> (n, c, y, x)>

// Windows that share no element are not copied first.
// CHECK-LABEL: func.func @side_by_side(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @side_by_side(%x: memref<1x2x32x32xf32>, %w: memref<2x2x2xf32>, %y: memref<1x2x16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#picture], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%y : memref<1x2x16x16xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#apart, #taps, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : memref<1x2x32x32xf32>, memref<2x2x2xf32>) outs(%y : memref<1x2x16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}
