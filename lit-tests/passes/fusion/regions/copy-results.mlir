// RUN: %xyntra-opt %s --copy-results | FileCheck %s

// An argument, a constant, and a second use of one result need a kernel that writes them.
// CHECK-LABEL: func.func @results(
// CHECK-SAME: %[[X:.+]]: tensor<4x8xf32>)
// CHECK: %[[S:.+]] = "xyntra.softmax"(%[[X]])
// CHECK: %[[A:.+]] = linalg.generic {{.+}} ins(%[[X]] :
// CHECK: %[[B:.+]] = linalg.generic {{.+}} ins(%{{.+}} : tensor<2xf32>)
// CHECK: %[[C:.+]] = linalg.generic {{.+}} ins(%[[S]] :
// CHECK: return %[[A]], %[[B]], %[[S]], %[[C]]
func.func @results(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<2xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = "xyntra.softmax"(%x) {axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %x, %c, %0, %0 : tensor<4x8xf32>, tensor<2xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
