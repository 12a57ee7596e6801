// RUN: %xyntra-opt %s --float8-products | FileCheck %s

#id2 = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Nothing is known of either factor when the model is loaded: the product stays one of f16.
// CHECK: xyntra.precisions = {{\[}}["line {{[0-9]+}}", "f16", ""]]
// CHECK-LABEL: func.func @main(
// CHECK-NOT: f8E4M3FN
// CHECK: linalg.generic {{.+}} ins(%{{.+}}, %{{.+}} : tensor<4x64xf16>, tensor<64x32xf16>)
// CHECK-NOT: f8E4M3FN
func.func @main(%x: tensor<4x64xf16>, %w: tensor<64x32xf16>) -> tensor<4x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x32xf32>
  %z = linalg.generic {indexing_maps = [#id2], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x32xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<4x32xf32>
  %p = linalg.generic {indexing_maps = [#a, #w, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x64xf16>, tensor<64x32xf16>) outs(%z : tensor<4x32xf32>) {
  ^bb0(%l: f16, %r: f16, %acc: f32):
    %i = arith.extf %l : f16 to f32
    %j = arith.extf %r : f16 to f32
    %m = arith.mulf %i, %j : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x32xf32>
  return %p : tensor<4x32xf32>
}
