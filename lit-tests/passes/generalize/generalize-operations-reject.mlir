// RUN: %xyntra-opt %s --generalize-operations --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @dynamic
// CHECK: math.exp %arg0 : tensor<?xf32>
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-remark@+1 {{'math.exp' has the dynamic shape tensor<?xf32>; it is left as it is}}
  %0 = math.exp %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// What stays reads a scalar as before.
// CHECK-LABEL: func.func @store
// CHECK: %[[V:.+]] = tensor.extract
// CHECK: memref.store %[[V]]
func.func @store(%s: f32, %m: memref<4xf32>) {
  %c = arith.constant 0 : index
  %0 = math.exp %s : f32
  // expected-remark@+1 {{'memref.store' has the type memref<4xf32>; it is left as it is}}
  memref.store %0, %m[%c] : memref<4xf32>
  return
}

// -----

// CHECK-LABEL: func.func @seven_bits
// CHECK: arith.trunci %arg0 : tensor<4xi32> to tensor<4xi7>
func.func @seven_bits(%x: tensor<4xi32>) -> tensor<4xi7> {
  // expected-remark@+1 {{'arith.trunci' has the type tensor<4xi7>; it is left as it is}}
  %0 = arith.trunci %x : tensor<4xi32> to tensor<4xi7>
  return %0 : tensor<4xi7>
}

// -----

// CHECK-LABEL: func.func @scatter
// CHECK: tensor.scatter
func.func @scatter(%x: tensor<1xf32>, %y: tensor<4xf32>, %i: tensor<1x1xi64>) -> tensor<4xf32> {
  // expected-remark@+1 {{'tensor.scatter' is not compiled; it is left as it is}}
  %0 = tensor.scatter %x into %y[%i] scatter_dims([0]) unique : (tensor<1xf32>, tensor<4xf32>, tensor<1x1xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Kernels and regions stay.
// CHECK-LABEL: func.func private @kernel
// CHECK: linalg.exp
func.func private @kernel(%x: tensor<4xf32>) -> tensor<4xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK-LABEL: func.func @main
// CHECK: xyntra.fused
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: linalg.negf
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @kernel(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "xyntra.fused"() ({
    %e = tensor.empty() : tensor<4xf32>
    %2 = linalg.negf ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    "xyntra.yield"(%2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
