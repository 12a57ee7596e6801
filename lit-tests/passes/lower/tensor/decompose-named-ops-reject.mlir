// RUN: %xyntra-opt %s --decompose-named-ops --split-input-file --verify-diagnostics

func.func @dynamic(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{'xyntra.softmax' has a dynamic shape; static shapes were expected}}
  %0 = "xyntra.softmax"(%x) {axis = 1} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

func.func @dynamic_scale(%x: tensor<2x4xf32>, %scale: tensor<?xf32>) -> tensor<2x4xf32> {
  // expected-error @below {{'xyntra.rms_norm' has a dynamic shape; static shapes were expected}}
  %0 = "xyntra.rms_norm"(%x, %scale) {axis = 1, epsilon = 0.1 : f32, operandSegmentSizes = array<i32: 1, 1>} : (tensor<2x4xf32>, tensor<?xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
