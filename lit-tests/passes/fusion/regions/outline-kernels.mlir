// RUN: %xyntra-opt %s --outline-kernels | FileCheck %s

// Both regions are equal up to names, so that they are one kernel.
// CHECK: func.func private @[[K:row_[0-9a-f]+]](%[[A:.+]]: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "row"}>}
// CHECK-NEXT: xyntra.softmax
// CHECK-NEXT: return
// CHECK-NOT: func.func private
// CHECK-LABEL: func.func @twice
// CHECK: %[[ONE:.+]] = call @[[K]](
// CHECK: %[[TWO:.+]] = call @[[K]](%[[ONE]])
// CHECK: return %[[TWO]]
func.func @twice(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = "xyntra.fused"() ({
    %1 = "xyntra.softmax"(%x) {axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x8xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x8xf32>
  %2 = "xyntra.fused"() ({
    %3 = "xyntra.softmax"(%0) {axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "xyntra.yield"(%3) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x8xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// Weights, and what is computed from them at load, are constants of kernels with an anchor.
// CHECK: func.func private @contraction_{{[0-9a-f]+}}(%{{.+}}: tensor<4x4xf32>, %{{.+}}: tensor<4x4xf32> {xyntra.constant})
// CHECK-LABEL: func.func @weights
func.func @weights(%x: tensor<4x4xf32>, %w: tensor<4x4xf32> {xyntra.parameter = "w"}) -> tensor<4x4xf32> {
  %0 = "xyntra.fused"() ({
    %1 = "xyntra.softmax"(%w) {axis = 1} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  %2 = "xyntra.fused"() ({
    %e = tensor.empty() : tensor<4x4xf32>
    %3 = linalg.matmul ins(%x, %0 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%3) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
