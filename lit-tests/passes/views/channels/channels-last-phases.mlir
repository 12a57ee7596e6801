// RUN: %xyntra-opt %s --channels-last --fold-transposes | FileCheck %s
// RUN: %xyntra-opt %s --channels-last=target=cuda --fold-transposes=target=cuda | FileCheck %s --check-prefix=GPU

#read = affine_map<(n, m, y, r, x, s, c) -> (n, c, y, x)>
#weight = affine_map<(n, m, y, r, x, s, c) -> (c, m, r, s)>
#write = affine_map<(n, m, y, r, x, s, c) -> (n, m, y, r, x, s)>

// A transposed convolution of 2 x 2 taps in steps of 2: neighbouring results have other weights. On
// CPUs its vectors are of channels, and a copy puts them where they belong.
// CHECK: #[[RESULT:.+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4, d5)>
// CHECK-LABEL: func.func @phases(
// CHECK: %[[C:.+]] = linalg.generic {indexing_maps = [#{{.+}}, #{{.+}}, #[[RESULT]]]{{.+}} outs({{.+}} : tensor<1x16x2x16x2x64xf32>)
// CHECK: linalg.generic {{.+}} outs({{.+}} : tensor<1x64x32x32xf32>)
// GPU-LABEL: func.func @phases(
// GPU: linalg.generic {{.+}} outs({{.+}} : tensor<1x64x16x2x16x2xf32>)
func.func @phases(%x: tensor<1x64x16x16xf32>, %w: tensor<64x64x2x2xf32>) -> tensor<1x64x32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x64x16x2x16x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x64x16x2x16x2xf32>) -> tensor<1x64x16x2x16x2xf32>
  %c = linalg.generic {indexing_maps = [#read, #weight, #write], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<1x64x16x16xf32>, tensor<64x64x2x2xf32>) outs(%f : tensor<1x64x16x2x16x2xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x64x16x2x16x2xf32>
  %r = tensor.collapse_shape %c [[0], [1], [2, 3], [4, 5]] : tensor<1x64x16x2x16x2xf32> into tensor<1x64x32x32xf32>
  return %r : tensor<1x64x32x32xf32>
}
