// RUN: %xyntra-opt %s --split-input-file --verify-diagnostics

func.func @axis_too_large(%x: tensor<2x3xf32>) {
  // expected-error @below {{'xyntra.softmax' op expects 'axis' between 0 and 1 for rank 2, got 2}}
  %0 = "xyntra.softmax"(%x) {axis = 2} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @axis_negative(%x: tensor<2x3xf32>) {
  // expected-error @below {{'xyntra.log_softmax' op expects 'axis' between 0 and 1 for rank 2, got -1}}
  %0 = "xyntra.log_softmax"(%x) {axis = -1} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @axis_of_another_width(%x: tensor<2x3xf32>) {
  // expected-error @below {{expects 'axis' to be an i64 attribute, got 1 : i32}}
  %0 = "xyntra.softmax"(%x) {axis = 1 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @axis_missing(%x: tensor<2x3xf32>) {
  // expected-error @below {{attribute "axis" is expected but not provided}}
  %0 = "xyntra.softmax"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @axis_not_a_number(%x: tensor<2x3xf32>) {
  // expected-error @below {{expected base attribute 'builtin.integer' but got 'builtin.string'}}
  %0 = "xyntra.softmax"(%x) {axis = "last"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @rank_zero(%x: tensor<f32>) {
  // expected-error @below {{expects an input of rank 1 or more, got rank 0}}
  %0 = "xyntra.softmax"(%x) {axis = 0} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @integers(%x: tensor<2xi32>) {
  // expected-error @below {{expects the input to be a ranked tensor of f16/bf16/f32/f64, got tensor<2xi32>}}
  %0 = "xyntra.softmax"(%x) {axis = 0} : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @unranked(%x: tensor<*xf32>) {
  // expected-error @below {{expects the input to be a ranked tensor of f16/bf16/f32/f64, got tensor<*xf32>}}
  %0 = "xyntra.softmax"(%x) {axis = 0} : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @memref(%x: memref<2xf32>) {
  // expected-error @below {{expects the input to be a ranked tensor of f16/bf16/f32/f64, got memref<2xf32>}}
  %0 = "xyntra.log_softmax"(%x) {axis = 0} : (memref<2xf32>) -> memref<2xf32>
  return
}

// -----

func.func @other_result(%x: tensor<2xf32>) {
  // expected-error @below {{expects the result type to be the input type tensor<2xf32>, got tensor<2xf16>}}
  %0 = "xyntra.softmax"(%x) {axis = 0} : (tensor<2xf32>) -> tensor<2xf16>
  return
}

// -----

func.func @other_log_result(%x: tensor<2xf32>) {
  // expected-error @below {{expects the result type to be the input type tensor<2xf32>, got tensor<?xf32>}}
  %0 = "xyntra.log_softmax"(%x) {axis = 0} : (tensor<2xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @two_inputs(%x: tensor<2xf32>) {
  // expected-error @below {{op expects exactly 1 operands, but got 2}}
  %0 = "xyntra.softmax"(%x, %x) {axis = 0} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}
