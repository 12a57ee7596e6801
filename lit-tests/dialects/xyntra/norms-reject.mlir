// RUN: %xyntra-opt %s --split-input-file --verify-diagnostics

func.func @axis_too_large(%x: tensor<2x3xf32>) {
  // expected-error @below {{'xyntra.layer_norm' op expects 'axis' between 0 and 1 for rank 2, got 2}}
  %0 = "xyntra.layer_norm"(%x) {axis = 2, epsilon = 0.1 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @rms_axis_negative(%x: tensor<2x3xf32>) {
  // expected-error @below {{'xyntra.rms_norm' op expects 'axis' between 0 and 1 for rank 2, got -2}}
  %0 = "xyntra.rms_norm"(%x) {axis = -2, epsilon = 0.1 : f32, operandSegmentSizes = array<i32: 1, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @epsilon_of_another_width(%x: tensor<3xf64>) {
  // expected-error @below {{'xyntra.layer_norm' op expects 'epsilon' to be an f32 attribute, got 1.000000e-01 : f64}}
  %0 = "xyntra.layer_norm"(%x) {axis = 0, epsilon = 0.1 : f64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<3xf64>) -> tensor<3xf64>
  return
}

// -----

func.func @epsilon_negative(%x: tensor<3xf32>) {
  // expected-error @below {{'xyntra.rms_norm' op expects 'epsilon' to be finite and not negative, got -1.0}}
  %0 = "xyntra.rms_norm"(%x) {axis = 0, epsilon = -1.0 : f32, operandSegmentSizes = array<i32: 1, 0>} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @epsilon_nan(%x: tensor<3xf32>) {
  // expected-error @below {{expects 'epsilon' to be finite and not negative, got nan}}
  %0 = "xyntra.layer_norm"(%x) {axis = 0, epsilon = 0x7FC00000 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @epsilon_infinite(%x: tensor<3xf32>) {
  // expected-error @below {{expects 'epsilon' to be finite and not negative, got inf}}
  %0 = "xyntra.layer_norm"(%x) {axis = 0, epsilon = 0x7F800000 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @epsilon_missing(%x: tensor<3xf32>) {
  // expected-error @below {{attribute "epsilon" is expected but not provided}}
  %0 = "xyntra.rms_norm"(%x) {axis = 0, operandSegmentSizes = array<i32: 1, 0>} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @scale_shape(%x: tensor<2x3xf32>, %scale: tensor<2xf32>) {
  // expected-error @below {{'xyntra.layer_norm' op expects scale to be broadcastable to tensor<2x3xf32>, got tensor<2xf32>}}
  %0 = "xyntra.layer_norm"(%x, %scale) {axis = 1, epsilon = 0.1 : f32, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @bias_rank(%x: tensor<3xf32>, %bias: tensor<1x3xf32>) {
  // expected-error @below {{'xyntra.layer_norm' op expects bias to be broadcastable to tensor<3xf32>, got tensor<1x3xf32>}}
  %0 = "xyntra.layer_norm"(%x, %bias) {axis = 0, epsilon = 0.1 : f32, operandSegmentSizes = array<i32: 1, 0, 1>} : (tensor<3xf32>, tensor<1x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @scale_type(%x: tensor<2x3xf16>, %scale: tensor<3xf32>) {
  // expected-error @below {{'xyntra.rms_norm' op expects scale to have the input's element type f16, got f32}}
  %0 = "xyntra.rms_norm"(%x, %scale) {axis = 1, epsilon = 0.1 : f32, operandSegmentSizes = array<i32: 1, 1>} : (tensor<2x3xf16>, tensor<3xf32>) -> tensor<2x3xf16>
  return
}

// -----

func.func @scale_scalar(%x: tensor<2x3xf16>, %scale: f16) {
  // expected-error @below {{'xyntra.rms_norm' op expects scale to be a ranked tensor of f16/bf16/f32/f64, got f16}}
  %0 = "xyntra.rms_norm"(%x, %scale) {axis = 1, epsilon = 0.1 : f32, operandSegmentSizes = array<i32: 1, 1>} : (tensor<2x3xf16>, f16) -> tensor<2x3xf16>
  return
}

// -----

func.func @layer_norm_of_integers(%x: tensor<3xi32>) {
  // expected-error @below {{'xyntra.layer_norm' op expects the input to be a ranked tensor of f16/bf16/f32/f64, got tensor<3xi32>}}
  %0 = "xyntra.layer_norm"(%x) {axis = 0, epsilon = 0.1 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<3xi32>) -> tensor<3xi32>
  return
}

// -----

func.func @layer_norm_result(%x: tensor<3xf32>) {
  // expected-error @below {{'xyntra.layer_norm' op expects the result type to be the input type tensor<3xf32>, got tensor<4xf32>}}
  %0 = "xyntra.layer_norm"(%x) {axis = 0, epsilon = 0.1 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @rms_norm_result(%x: tensor<3xf32>) {
  // expected-error @below {{'xyntra.rms_norm' op expects the result type to be the input type tensor<3xf32>, got tensor<3xf16>}}
  %0 = "xyntra.rms_norm"(%x) {axis = 0, epsilon = 0.1 : f32, operandSegmentSizes = array<i32: 1, 0>} : (tensor<3xf32>) -> tensor<3xf16>
  return
}

// -----

func.func @segments_missing(%x: tensor<3xf32>) {
  // expected-error @below {{'operandSegmentSizes' attribute is expected but not provided}}
  %0 = "xyntra.layer_norm"(%x) {axis = 0, epsilon = 0.1 : f32} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @rms_segments_missing(%x: tensor<3xf32>) {
  // expected-error @below {{'xyntra.rms_norm' op expects i32 'operandSegmentSizes' for 1 operands, got None}}
  %0 = "xyntra.rms_norm"(%x) {axis = 0, epsilon = 0.1 : f32} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @segments_do_not_add_up(%x: tensor<3xf32>) {
  // expected-error @below {{'xyntra.rms_norm' op expects i32 'operandSegmentSizes' for 1 operands, got array<i32: 1, 1>}}
  %0 = "xyntra.rms_norm"(%x) {axis = 0, epsilon = 0.1 : f32, operandSegmentSizes = array<i32: 1, 1>} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @segments_of_another_kind(%x: tensor<3xf32>) {
  // expected-error @below {{'xyntra.rms_norm' op expects i32 'operandSegmentSizes' for 1 operands, got array<i64: 1, 0>}}
  %0 = "xyntra.rms_norm"(%x) {axis = 0, epsilon = 0.1 : f32, operandSegmentSizes = array<i64: 1, 0>} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @layer_norm_segments_do_not_add_up(%x: tensor<3xf32>) {
  // expected-error @below {{sum of elements in 'operandSegmentSizes' attribute must be equal to the number of operands}}
  %0 = "xyntra.layer_norm"(%x) {axis = 0, epsilon = 0.1 : f32, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @segments_without_x(%x: tensor<3xf32>) {
  // expected-error @below {{'xyntra.rms_norm' op expects i32 'operandSegmentSizes' for 1 operands, got array<i32: 0, 1>}}
  %0 = "xyntra.rms_norm"(%x) {axis = 0, epsilon = 0.1 : f32, operandSegmentSizes = array<i32: 0, 1>} : (tensor<3xf32>) -> tensor<3xf32>
  return
}
