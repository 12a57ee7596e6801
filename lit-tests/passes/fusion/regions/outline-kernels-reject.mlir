// RUN: %xyntra-opt %s --outline-kernels | FileCheck %s

// Another axis is another kernel, and operations outside of regions stay where they are.
// CHECK: func.func private @row_
// CHECK: axis = 1
// CHECK: func.func private @row_
// CHECK: axis = 0
// CHECK-LABEL: func.func @different
// CHECK: call @row_
// CHECK: call @row_
// CHECK: tensor.collapse_shape
func.func @different(%x: tensor<4x8xf32>) -> tensor<32xf32> {
  %0 = "xyntra.fused"() ({
    %1 = "xyntra.softmax"(%x) {axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x8xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x8xf32>
  %2 = "xyntra.fused"() ({
    %3 = "xyntra.softmax"(%0) {axis = 0} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "xyntra.yield"(%3) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x8xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x8xf32>
  %4 = tensor.collapse_shape %2 [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  return %4 : tensor<32xf32>
}
