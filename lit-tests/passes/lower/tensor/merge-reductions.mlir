// RUN: %xyntra-opt %s --merge-reductions | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// Only the sum reads the product, so that it is computed in the loop of the sum.
// CHECK-LABEL: func.func private @weighted_sum(
// CHECK-SAME: [[X:%.+]]: tensor<4x8xf32>, [[W:%.+]]: tensor<8xf32>)
// CHECK: linalg.generic {{.+}} ins([[X]], [[W]] : tensor<4x8xf32>, tensor<8xf32>)
// CHECK: ([[P:%.+]]: f32, [[Q:%.+]]: f32, [[ACC:%.+]]: f32):
// CHECK: [[M:%.+]] = arith.mulf [[P]], [[Q]]
// CHECK: [[S:%.+]] = arith.addf [[ACC]], [[M]]
// CHECK: linalg.yield [[S]]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func private @weighted_sum(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> tensor<4xf32>
    attributes {xyntra.kernel = #xyntra.kernel<{kind = "row"}>} {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %w : tensor<4x8xf32>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    linalg.yield %m : f32
  } -> tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%0 : tensor<4x8xf32>) outs(%zero : tensor<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
