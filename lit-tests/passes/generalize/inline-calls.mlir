// RUN: %xyntra-opt %s --inline-calls | FileCheck %s

// Calls of calls; functions that nothing calls any more are gone, kernels are not inlined.
// CHECK-NOT: func.func private @twice
// CHECK-NOT: func.func private @double
// CHECK: func.func private @kernel
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.+]]: tensor<4xf32>)
// CHECK-NEXT: %[[A:.+]] = arith.addf %[[X]], %[[X]]
// CHECK-NEXT: %[[B:.+]] = arith.addf %[[A]], %[[A]]
// CHECK-NEXT: %[[C:.+]] = arith.addf %[[B]], %[[B]]
// CHECK-NEXT: %[[D:.+]] = call @kernel(%[[C]])
// CHECK-NEXT: return %[[D]], %[[X]]
func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = call @double(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @double(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %x : tensor<4xf32>, tensor<4xf32>
}
func.func private @kernel(%x: tensor<4xf32>) -> tensor<4xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0, %1 = call @twice(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %2 = call @double(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = call @kernel(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3, %1 : tensor<4xf32>, tensor<4xf32>
}

// A call inside of a loop.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for
// CHECK-NEXT: arith.addf
// CHECK-NEXT: scf.yield
func.func @loop(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> tensor<4xf32> {
    %1 = func.call @double(%t) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
