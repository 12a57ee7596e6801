// RUN: %xyntra-opt %s --schedule-nests --packed-products | FileCheck %s

#none = affine_map<(m, n) -> ()>
#out = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// A matrix of f32 holds no integers.
// CHECK-LABEL: func.func @of_floats(
// CHECK-COUNT-2: linalg.generic
func.func @of_floats(%a: memref<2x256xf32>, %b: memref<512x256xf32>, %c: memref<2x512xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#none, #out], iterator_types = ["parallel", "parallel"]}
      ins(%zero : f32) outs(%c : memref<2x512xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<2x256xf32>, memref<512x256xf32>) outs(%c : memref<2x512xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}

// A small matrix: any order of loops does.
// CHECK-LABEL: func.func @small(
// CHECK-COUNT-2: linalg.generic
func.func @small(%a: memref<2x64xf32>, %b: memref<128x64xi8>, %c: memref<2x128xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#none, #out], iterator_types = ["parallel", "parallel"]}
      ins(%zero : f32) outs(%c : memref<2x128xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<2x64xf32>, memref<128x64xi8>) outs(%c : memref<2x128xf32>) {
  ^bb0(%p: f32, %q: i8, %acc: f32):
    %w = arith.extui %q : i8 to i32
    %f = arith.sitofp %w : i32 to f32
    %m = arith.mulf %p, %f : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}
