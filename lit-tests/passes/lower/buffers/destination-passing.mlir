// RUN: %xyntra-opt %s --destination-passing --split-input-file | FileCheck %s

// Each result becomes a new argument, behind the inputs.
// CHECK-LABEL: func.func @two_results(
// CHECK-SAME: [[X:%[a-z0-9]+]]: tensor<4xf32> {bufferization.writable = false},
// CHECK-SAME: [[FIRST:%[a-z0-9]+]]: memref<4xf32>, [[SECOND:%[a-z0-9]+]]: memref<4xf32>) attributes
// CHECK-SAME: xyntra.inputs = 1 : i64
// CHECK: [[A:%.+]] = math.absf [[X]]
// CHECK: bufferization.materialize_in_destination [[A]] in restrict writable [[FIRST]]
// CHECK: bufferization.materialize_in_destination [[X]] in restrict writable [[SECOND]]
// CHECK-NEXT: return{{$}}
func.func @two_results(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = math.absf %x : tensor<4xf32>
  return %0, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

// A result that is written in place stays one, and goes into its argument's buffer.
// CHECK-LABEL: func.func @inplace(
// CHECK-SAME: [[X:%[a-z0-9]+]]: tensor<2xf32> {bufferization.writable = false},
// CHECK-SAME: [[Y:%[a-z0-9]+]]: tensor<4xf32> {bufferization.writable = true},
// CHECK-SAME: [[OUT:%[a-z0-9]+]]: memref<2xf32>) -> tensor<4xf32>
// CHECK-SAME: xyntra.inputs = 2 : i64
// CHECK: [[A:%.+]] = math.absf [[X]]
// CHECK: [[B:%.+]] = math.absf [[Y]]
// CHECK: bufferization.materialize_in_destination [[A]] in restrict writable [[OUT]]
// CHECK: [[R:%.+]] = bufferization.materialize_in_destination [[B]] in [[Y]] :
// CHECK-NEXT: return [[R]] : tensor<4xf32>
func.func @inplace(%x: tensor<2xf32>, %y: tensor<4xf32>) -> (tensor<2xf32>, tensor<4xf32>)
    attributes {xyntra.inplace = [[1, 1]]} {
  %0 = math.absf %x : tensor<2xf32>
  %1 = math.absf %y : tensor<4xf32>
  return %0, %1 : tensor<2xf32>, tensor<4xf32>
}

// -----

// What is known at load stays known.
// CHECK-LABEL: func.func @constant(
// CHECK-SAME: tensor<4xf32> {bufferization.writable = false, xyntra.constant}
func.func @constant(%x: tensor<4xf32> {xyntra.constant}) -> tensor<4xf32> {
  %0 = math.absf %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
