// RUN: not %xyntra-opt %s --lower-to-gpu --split-input-file 2>&1 | FileCheck %s

// CHECK: GPUs have no code for math.exp of f64
func.func @k(%x: tensor<8xf64>) -> tensor<8xf64> {
  %0 = tensor.empty() : tensor<8xf64>
  %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf64>) outs(%0 : tensor<8xf64>) {
  ^bb0(%a: f64, %o: f64):
    %2 = math.exp %a : f64
    linalg.yield %2 : f64
  } -> tensor<8xf64>
  return %1 : tensor<8xf64>
}
