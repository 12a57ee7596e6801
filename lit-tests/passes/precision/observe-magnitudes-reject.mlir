// RUN: %xyntra-opt %s --observe-magnitudes=errors=bf16 | FileCheck %s

#id = affine_map<(m) -> (m)>

// Integers, doubles and what depends on neither weights nor float inputs is not looked at.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: -> (tensor<4xf32>, tensor<4xf64>) {
// CHECK: return {{.+}}, {{.+}} : tensor<4xf32>, tensor<4xf64>
func.func @main(%x: tensor<4xi64>, %y: tensor<4xf64>) -> (tensor<4xf32>, tensor<4xf64>) {
  %e = tensor.empty() : tensor<4xf32>
  %d = tensor.empty() : tensor<4xf64>
  %p = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xi64>) outs(%e : tensor<4xf32>) {
  ^bb0(%l: i64, %o: f32):
    %s = arith.sitofp %l : i64 to f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%y : tensor<4xf64>) outs(%d : tensor<4xf64>) {
  ^bb0(%l: f64, %o: f64):
    %s = arith.addf %l, %l : f64
    linalg.yield %s : f64
  } -> tensor<4xf64>
  return %p, %q : tensor<4xf32>, tensor<4xf64>
}
