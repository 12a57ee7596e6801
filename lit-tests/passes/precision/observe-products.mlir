// RUN: %xyntra-opt %s --observe-products | FileCheck %s

#id2 = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// The factor of the first product is returned; the second one has the same.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: tensor<4x64xf32> {xyntra.output = "xyntra.factor 0 0 1 {{\[.+\]}}"}, tensor<f32> {xyntra.output = "xyntra.same 1 0 1 {{\[.+\]}}"})
// CHECK: return %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x64xf32>, tensor<f32>
module {
func.func @main(%x: tensor<4x64xf32>, %w: tensor<64x32xf32> {xyntra.parameter = "w"}) -> (tensor<4x32xf32>, tensor<4x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x32xf32>
  %z = linalg.generic {indexing_maps = [#id2], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x32xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<4x32xf32>
  %p = linalg.generic {indexing_maps = [#a, #w, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x64xf32>, tensor<64x32xf32>) outs(%z : tensor<4x32xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x32xf32>
  %q = linalg.generic {indexing_maps = [#a, #w, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x64xf32>, tensor<64x32xf32>) outs(%z : tensor<4x32xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x32xf32>
  return %p, %q : tensor<4x32xf32>, tensor<4x32xf32>
}
}
