// RUN: %xyntra-opt %s --observe-products | FileCheck %s

#id2 = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Products of few weights, and of two factors that a call computes, stay in f32 whatever these hold.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32> {xyntra.output = "xyntra.kept 0 0 {{[01]}} {{\[.+\]}}"}, tensor<f32> {xyntra.output = "xyntra.kept 1 1 {{[01]}} {{\[.+\]}}"})
module {
func.func @main(%x: tensor<4x64xf32>, %w: tensor<64x8xf32> {xyntra.parameter = "w"}, %v: tensor<64x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %z = linalg.generic {indexing_maps = [#id2], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x8xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<4x8xf32>
  %p = linalg.generic {indexing_maps = [#a, #w, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x64xf32>, tensor<64x8xf32>) outs(%z : tensor<4x8xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %q = linalg.generic {indexing_maps = [#a, #w, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %v : tensor<4x64xf32>, tensor<64x8xf32>) outs(%z : tensor<4x8xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %p, %q : tensor<4x8xf32>, tensor<4x8xf32>
}
}
