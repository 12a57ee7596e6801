// RUN: %xyntra-opt %s --copy-results | FileCheck %s

// A result that an operation writes is not copied, nor is a view of it.
// CHECK-LABEL: func.func @written
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @written(%x: tensor<4x8xf32>) -> tensor<32xf32> {
  %0 = "xyntra.softmax"(%x) {axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  return %1 : tensor<32xf32>
}
