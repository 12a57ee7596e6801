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
