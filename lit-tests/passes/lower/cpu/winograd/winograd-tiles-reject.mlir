// RUN: %xyntra-opt %s --split-input-file --schedule-nests --winograd-tiles | FileCheck %s

#none = affine_map<(n, y, x, m) -> (n, y, x, m)>
#image = affine_map<(n, y, x, m, i, j, c) -> (n, y + i, x + j, c)>
#weight = affine_map<(n, y, x, m, i, j, c) -> (m, c, i, j)>
#result = affine_map<(n, y, x, m, i, j, c) -> (n, y, x, m)>

// Weights that may change in every call are not transformed.
// CHECK-LABEL: func.func @weights_change(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @weights_change(%x: memref<1x12x12x32xf32>, %w: memref<32x32x3x3xf32>, %y: memref<1x10x10x32xf32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "conv"}>} {
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
#image = affine_map<(n, y, x, m, i, j, c) -> (n, y * 2 + i, x * 2 + j, c)>
#weight = affine_map<(n, y, x, m, i, j, c) -> (m, c, i, j)>
#result = affine_map<(n, y, x, m, i, j, c) -> (n, y, x, m)>

// Steps of 2 skip inputs that tiles would share.
// CHECK-LABEL: func.func @strided(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @strided(%x: memref<1x21x21x32xf32>, %w: memref<32x32x3x3xf32> {xyntra.constant}, %y: memref<1x10x10x32xf32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "conv"}>} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#none], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%y : memref<1x10x10x32xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#image, #weight, #result],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : memref<1x21x21x32xf32>, memref<32x32x3x3xf32>) outs(%y : memref<1x10x10x32xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#none = affine_map<(n, y, x, m) -> (n, y, x, m)>
#image = affine_map<(n, y, x, m, i, j, c) -> (n, y + i * 2, x + j * 2, c)>
#weight = affine_map<(n, y, x, m, i, j, c) -> (m, c, i, j)>
#result = affine_map<(n, y, x, m, i, j, c) -> (n, y, x, m)>

// So do taps that are 2 apart.
// CHECK-LABEL: func.func @dilated(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @dilated(%x: memref<1x14x14x32xf32>, %w: memref<32x32x3x3xf32> {xyntra.constant}, %y: memref<1x10x10x32xf32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "conv"}>} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#none], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%y : memref<1x10x10x32xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#image, #weight, #result],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : memref<1x14x14x32xf32>, memref<32x32x3x3xf32>) outs(%y : memref<1x10x10x32xf32>) {
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

// There is nothing to gain with 5 x 5 taps.
// CHECK-LABEL: func.func @five_taps(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @five_taps(%x: memref<1x14x14x32xf32>, %w: memref<32x32x5x5xf32> {xyntra.constant}, %y: memref<1x10x10x32xf32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "conv"}>} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#none], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%y : memref<1x10x10x32xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#image, #weight, #result],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : memref<1x14x14x32xf32>, memref<32x32x5x5xf32>) outs(%y : memref<1x10x10x32xf32>) {
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

// Few channels: transforms cost more than multiplications.
// CHECK-LABEL: func.func @few_channels(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @few_channels(%x: memref<1x12x12x8xf32>, %w: memref<32x8x3x3xf32> {xyntra.constant}, %y: memref<1x10x10x32xf32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "conv"}>} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#none], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%y : memref<1x10x10x32xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#image, #weight, #result],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : memref<1x12x12x8xf32>, memref<32x8x3x3xf32>) outs(%y : memref<1x10x10x32xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#none = affine_map<(n, y, x, m) -> (n, y, x, m)>
#image = affine_map<(n, y, x, m, i, j, c) -> (n, c, y + i, x + j)>
#weight = affine_map<(n, y, x, m, i, j, c) -> (m, c, i, j)>
#result = affine_map<(n, y, x, m, i, j, c) -> (n, y, x, m)>

// Channels are not innermost in the image.
// CHECK-LABEL: func.func @channels_first(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @channels_first(%x: memref<1x32x12x12xf32>, %w: memref<32x32x3x3xf32> {xyntra.constant}, %y: memref<1x10x10x32xf32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "conv"}>} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#none], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%y : memref<1x10x10x32xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#image, #weight, #result],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : memref<1x32x12x12xf32>, memref<32x32x3x3xf32>) outs(%y : memref<1x10x10x32xf32>) {
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

// This is no sum of products.
// CHECK-LABEL: func.func @maximum(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @maximum(%x: memref<1x12x12x32xf32>, %w: memref<32x32x3x3xf32> {xyntra.constant}, %y: memref<1x10x10x32xf32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "conv"}>} {
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
    %s = arith.maximumf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}
