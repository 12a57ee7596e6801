// RUN: %xyntra-opt %s --split-input-file --schedule-nests --winograd-tiles | FileCheck %s

#none = affine_map<(n, y, x, m) -> (n, y, x, m)>
#image = affine_map<(n, y, x, m, i, j, c) -> (n, y + i, x + j, c)>
#weight = affine_map<(n, y, x, m, i, j, c) -> (m, c, i, j)>
#result = affine_map<(n, y, x, m, i, j, c) -> (n, y, x, m)>

// The nine taps of 32 x 32 channels become 16 matrices, once.
// CHECK-LABEL: func.func @convolution.prepare(
// CHECK: memref.load {{.+}} : memref<9216xf32>
// CHECK-COUNT-16: memref.store {{.+}} : memref<16384xf32>
// CHECK-LABEL: func.func @convolution(
// Tiles of 4 x 4 inputs, 2 apart, go into 16 matrices.
// CHECK: scf.for
// CHECK-COUNT-16: vector.load {{.+}} : memref<4608xf32>
// CHECK-COUNT-16: vector.store {{.+}} : memref<{{[0-9]+}}xf32>
// These are multiplied.
// CHECK: scf.for
// CHECK: vector.load {{.+}} : memref<16384xf32>
// CHECK: arith.mulf {{.+}} : vector<8xf32>
// What comes out are tiles of 2 x 2 outputs, summed again where one is not finite.
// CHECK: vector.fma
// CHECK: vector.reduction <add>
// CHECK: arith.cmpf uno
// CHECK: scf.if
// CHECK: vector.store {{.+}} : memref<3200xf32>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @convolution(%x: memref<1x12x12x32xf32>, %w: memref<32x32x3x3xf32> {xyntra.constant}, %y: memref<1x10x10x32xf32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "conv"}>} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#none], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%y : memref<1x10x10x32xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#image, #weight, #result],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : memref<1x12x12x32xf32>, memref<32x32x3x3xf32>) outs(%y : memref<1x10x10x32xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#none = affine_map<(n, y, x, m) -> (n, y, x, m)>
#image = affine_map<(n, y, x, m, i, j, c) -> (n, y + i, x + j, c)>
#weight = affine_map<(n, y, x, m, i, j, c) -> (m, c, i, j)>
#result = affine_map<(n, y, x, m, i, j, c) -> (n, y, x, m)>

// Padding is not copied: inner tiles are read from the image, those at its border through 4 x 4
// pixels. What follows is computed before anything is stored.
// CHECK-LABEL: func.func @padded(
// CHECK-NOT: memref.copy
// CHECK-NOT: linalg.generic
// CHECK: scf.if
// CHECK-COUNT-16: vector.load {{.+}} : memref<4608xf32>
// CHECK: } else {
// CHECK: memref.alloc() {{.*}}: memref<512xf32>
// CHECK: arith.cmpi ult
// CHECK-COUNT-16: vector.load {{.+}} : memref<512xf32>
// CHECK: [[Y:%.+]] = arith.negf
// CHECK: vector.store [[Y]], {{.+}} : memref<4608xf32>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @padded(%x: memref<1x12x12x32xf32>, %w: memref<32x32x3x3xf32> {xyntra.constant}, %z: memref<1x12x12x32xf32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "conv"}>} {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<1x14x14x32xf32>
  linalg.generic {indexing_maps = [#none], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%p : memref<1x14x14x32xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  %v = memref.subview %p[0, 1, 1, 0] [1, 12, 12, 32] [1, 1, 1, 1] : memref<1x14x14x32xf32> to memref<1x12x12x32xf32, strided<[6272, 448, 32, 1], offset: 480>>
  linalg.generic {indexing_maps = [#none, #none], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : memref<1x12x12x32xf32>) outs(%v : memref<1x12x12x32xf32, strided<[6272, 448, 32, 1], offset: 480>>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  }
  %y = memref.alloc() : memref<1x12x12x32xf32>
  linalg.generic {indexing_maps = [#none], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%y : memref<1x12x12x32xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#image, #weight, #result],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%p, %w : memref<1x14x14x32xf32>, memref<32x32x3x3xf32>) outs(%y : memref<1x12x12x32xf32>) {
  ^bb0(%a: f32, %q: f32, %acc: f32):
    %m = arith.mulf %a, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#none, #none], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y : memref<1x12x12x32xf32>) outs(%z : memref<1x12x12x32xf32>) {
  ^bb0(%s: f32, %o: f32):
    %n = arith.negf %s : f32
    linalg.yield %n : f32
  }
  return
}
