// RUN: %xyntra-opt %s --split-input-file --verify-diagnostics

func.func @unknown_approximation(%x: tensor<2xf32>) {
  // expected-error @below {{'xyntra.gelu' op expects 'approximate' to be "none" or "tanh", got "sigmoid"}}
  %0 = "xyntra.gelu"(%x) {approximate = "sigmoid"} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @no_approximation(%x: tensor<2xf32>) {
  // expected-error @below {{attribute "approximate" is expected but not provided}}
  %0 = "xyntra.gelu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @gelu_of_integers(%x: tensor<2xi8>) {
  // expected-error @below {{'xyntra.gelu' op expects the input to be a ranked tensor of f16/bf16/f32/f64, got tensor<2xi8>}}
  %0 = "xyntra.gelu"(%x) {approximate = "none"} : (tensor<2xi8>) -> tensor<2xi8>
  return
}

// -----

func.func @gelu_result(%x: tensor<2xf16>) {
  // expected-error @below {{'xyntra.gelu' op expects the result type to be the input type tensor<2xf16>, got tensor<2xf32>}}
  %0 = "xyntra.gelu"(%x) {approximate = "none"} : (tensor<2xf16>) -> tensor<2xf32>
  return
}

// -----

func.func @silu_of_a_scalar(%x: f32) {
  // expected-error @below {{'xyntra.silu' op expects the input to be a ranked tensor of f16/bf16/f32/f64, got f32}}
  %0 = "xyntra.silu"(%x) : (f32) -> f32
  return
}

// -----

func.func @silu_result(%x: tensor<2xf32>) {
  // expected-error @below {{'xyntra.silu' op expects the result type to be the input type tensor<2xf32>, got tensor<3xf32>}}
  %0 = "xyntra.silu"(%x) : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @unknown_op(%x: tensor<2xf32>) {
  // expected-error @below {{unregistered operation 'xyntra.swish' found in dialect ('xyntra')}}
  %0 = "xyntra.swish"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
