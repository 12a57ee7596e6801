// RUN: %xyntra-opt %s --inline-kernels=names=row_a | FileCheck %s
// RUN: %xyntra-opt %s --inline-kernels | FileCheck %s --check-prefix=ALL

// Both calls are replaced by what the kernel computes, each with its own arguments.
// CHECK-NOT: @row_a
// CHECK: func.func private @row_b
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.+]]: tensor<4x8xf32>, %[[Y:.+]]: tensor<4x8xf32>)
// CHECK: %[[A:.+]] = "xyntra.softmax"(%[[X]]) {{.+}}axis = 1
// CHECK: %[[B:.+]] = "xyntra.softmax"(%[[Y]]) {{.+}}axis = 1
// CHECK: %[[C:.+]] = call @row_b(%[[B]])
// CHECK: return %[[A]], %[[C]]

// ALL-NOT: func.func private
// ALL-NOT: call @
func.func private @row_a(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "row"}>} {
  %0 = "xyntra.softmax"(%x) {axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func private @row_b(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "row"}>} {
  %0 = "xyntra.softmax"(%x) {axis = 0} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = call @row_a(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = call @row_a(%y) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = call @row_b(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}
