// RUN: %xyntra-opt %s --split-input-file --schedule-nests --convolution-tiles | FileCheck %s

#out = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// Without constant weights there are no panels.
// CHECK-LABEL: func.func @both_change(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @both_change(%x: memref<32x64xf32>, %w: memref<64x64xf32>, %y: memref<32x64xf32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "contraction"}>} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#out], iterator_types = ["parallel", "parallel"]} outs(%y : memref<32x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<32x64xf32>, memref<64x64xf32>) outs(%y : memref<32x64xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#out = affine_map<(m, n) -> (n, m)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (n, m)>

// Channels are not innermost in the result.
// CHECK-LABEL: func.func @channels_first(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @channels_first(%x: memref<32x64xf32>, %w: memref<64x64xf32> {xyntra.constant}, %y: memref<64x32xf32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "contraction"}>} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#out], iterator_types = ["parallel", "parallel"]} outs(%y : memref<64x32xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<32x64xf32>, memref<64x64xf32>) outs(%y : memref<64x32xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#out = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// One row is bound by the weights, which are read once, in any order.
// CHECK-LABEL: func.func @one_row(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @one_row(%x: memref<1x64xf32>, %w: memref<64x64xf32> {xyntra.constant}, %y: memref<1x64xf32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "contraction"}>} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#out], iterator_types = ["parallel", "parallel"]} outs(%y : memref<1x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<1x64xf32>, memref<64x64xf32>) outs(%y : memref<1x64xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#out = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// A product of two matrices has better blocks elsewhere.
// CHECK-LABEL: func.func @product(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @product(%x: memref<32x64xf32>, %w: memref<64x48xf32> {xyntra.constant}, %y: memref<32x48xf32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "contraction"}>} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#out], iterator_types = ["parallel", "parallel"]} outs(%y : memref<32x48xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<32x64xf32>, memref<64x48xf32>) outs(%y : memref<32x48xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}
