// RUN: %xyntra-opt %s --inline-kernels | FileCheck %s

// A function that is no kernel is called as before, and so is one that is only declared.
// CHECK: func.func private @helper
// CHECK: func.func private @declared
// CHECK-LABEL: func.func @main
// CHECK: call @helper
// CHECK: call @declared
func.func private @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @helper(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @declared(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
