// RUN: %xyntra-opt %s --split-regions | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>

// A region that keeps the rules stays as it is, and nothing is recorded.
// CHECK-NOT: xyntra.fallbacks
// CHECK-LABEL: func.func @legal
// CHECK: "xyntra.fused"() ({
// CHECK: math.exp
// CHECK: arith.negf
// CHECK-NOT: "xyntra.fused"
// CHECK: return
func.func @legal(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = "xyntra.fused"() ({
    %e = tensor.empty() : tensor<8x8xf32>
    %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = math.exp %p : f32
      linalg.yield %s : f32
    } -> tensor<8x8xf32>
    %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%1 : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.negf %p : f32
      linalg.yield %s : f32
    } -> tensor<8x8xf32>
    "xyntra.yield"(%2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8x8xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// Kernel functions are left to `check-fusion`, also those that it refuses.
// CHECK: func.func private @kernel
// CHECK-SAME: kind = "elementwise"
func.func private @kernel(%x: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %0 = "xyntra.softmax"(%x) {axis = 1} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
