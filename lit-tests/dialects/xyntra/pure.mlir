// RUN: %xyntra-opt %s --cse --canonicalize | FileCheck %s

// Equal named ops are one, and unused ones are none.
// CHECK-LABEL: func.func @pure
func.func @pure(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-COUNT-1: "xyntra.silu"
  // CHECK-NOT: xyntra
  %0 = "xyntra.silu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "xyntra.silu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "xyntra.softmax"(%x) {axis = 0} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "xyntra.fused"() ({
    "xyntra.yield"(%0) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  // CHECK: return %[[SAME:.+]], %[[SAME]]
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
