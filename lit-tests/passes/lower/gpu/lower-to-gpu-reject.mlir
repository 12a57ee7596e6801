// RUN: not %xyntra-opt %s --lower-to-gpu --split-input-file 2>&1 | FileCheck %s

// CHECK: tensor<8xf128> has an unsupported element type
func.func @k(%x: tensor<8xf128>) -> tensor<8xf128> {
  %0 = tensor.empty() : tensor<8xf128>
  %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf128>) outs(%0 : tensor<8xf128>) {
  ^bb0(%a: f128, %o: f128):
    %2 = math.exp %a : f128
    linalg.yield %2 : f128
  } -> tensor<8xf128>
  return %1 : tensor<8xf128>
}
