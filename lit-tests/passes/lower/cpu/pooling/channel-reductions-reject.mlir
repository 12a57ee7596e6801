// RUN: %xyntra-opt %s --schedule-nests --channel-reductions | FileCheck %s

#id = affine_map<(n, c) -> (n, c)>
#read = affine_map<(n, c, y) -> (n, c, y)>
#write = affine_map<(n, c, y) -> (n, c)>

// What is summed is innermost.
// CHECK-LABEL: func.func @rows(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @rows(%x: memref<7x40x49xf32>, %y: memref<7x40xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%y : memref<7x40xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#read, #write], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : memref<7x40x49xf32>) outs(%y : memref<7x40xf32>) {
  ^bb0(%p: f32, %acc: f32):
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  return
}

#left = affine_map<(n, c, k) -> (n, k)>
#right = affine_map<(n, c, k) -> (k, c)>
#product = affine_map<(n, c, k) -> (n, c)>

// A product reads its factors again and again.
// CHECK-LABEL: func.func @product(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @product(%x: memref<7x49xf32>, %w: memref<49x40xf32>, %y: memref<7x40xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%y : memref<7x40xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#left, #right, #product], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<7x49xf32>, memref<49x40xf32>) outs(%y : memref<7x40xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}
