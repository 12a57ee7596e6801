// RUN: %xyntra-opt %s --split-quotients | FileCheck %s

// Divisors that do not divide each other, and three copies side by side, stay as they are.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: memref.expand_shape
func.func @left_alone(%a: memref<4x3xf32>, %b: memref<3x3xf32>, %c: memref<12x3xf32>,
                      %d: memref<12x9xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 floordiv 3, d1)>,
      affine_map<(d0, d1) -> (d0 floordiv 4, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
    ins(%a, %b : memref<4x3xf32>, memref<3x3xf32>) outs(%c : memref<12x3xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1 floordiv 3)>,
      affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
    ins(%c : memref<12x3xf32>) outs(%d : memref<12x9xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}
