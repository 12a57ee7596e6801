// RUN: %xyntra-opt %s | %xyntra-opt | FileCheck %s

// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<2x3xf32>, %dynamic: tensor<?x4xf16>) -> (tensor<2x3xf32>, tensor<?x4xf16>) {
  // CHECK: "xyntra.softmax"(%{{.+}}) {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %0 = "xyntra.softmax"(%x) {axis = 1} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: "xyntra.log_softmax"(%{{.+}}) {axis = 0 : i64} : (tensor<?x4xf16>) -> tensor<?x4xf16>
  %1 = "xyntra.log_softmax"(%dynamic) {axis = 0} : (tensor<?x4xf16>) -> tensor<?x4xf16>
  return %0, %1 : tensor<2x3xf32>, tensor<?x4xf16>
}

// CHECK-LABEL: func.func @layer_norm
func.func @layer_norm(%x: tensor<2x3x4xbf16>, %scale: tensor<3x4xbf16>, %bias: tensor<1xbf16>) -> tensor<2x3x4xbf16> {
  // CHECK: "xyntra.layer_norm"(%{{.+}}, %{{.+}}, %{{.+}}) {axis = 1 : i64, epsilon = {{.+}} : f32,
  // CHECK-SAME: operandSegmentSizes = array<i32: 1, 1, 1>}
  %0 = "xyntra.layer_norm"(%x, %scale, %bias) {axis = 1, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}
      : (tensor<2x3x4xbf16>, tensor<3x4xbf16>, tensor<1xbf16>) -> tensor<2x3x4xbf16>
  // CHECK: "xyntra.layer_norm"(%{{.+}}, %{{.+}}) {axis = 2 : i64, epsilon = {{.+}} : f32,
  // CHECK-SAME: operandSegmentSizes = array<i32: 1, 0, 1>}
  %1 = "xyntra.layer_norm"(%0, %bias) {axis = 2, epsilon = 0.0 : f32, operandSegmentSizes = array<i32: 1, 0, 1>}
      : (tensor<2x3x4xbf16>, tensor<1xbf16>) -> tensor<2x3x4xbf16>
  return %1 : tensor<2x3x4xbf16>
}

// CHECK-LABEL: func.func @rms_norm
func.func @rms_norm(%x: tensor<2x?xf64>, %scale: tensor<4xf64>) -> tensor<2x?xf64> {
  // CHECK: "xyntra.rms_norm"(%{{.+}}, %{{.+}}) {axis = 1 : i64
  %0 = "xyntra.rms_norm"(%x, %scale) {axis = 1, epsilon = 1.0e-6 : f32, operandSegmentSizes = array<i32: 1, 1>}
      : (tensor<2x?xf64>, tensor<4xf64>) -> tensor<2x?xf64>
  // CHECK: "xyntra.rms_norm"(%{{.+}}) {axis = 0 : i64
  %1 = "xyntra.rms_norm"(%0) {axis = 0, epsilon = 1.0e-6 : f32, operandSegmentSizes = array<i32: 1, 0>}
      : (tensor<2x?xf64>) -> tensor<2x?xf64>
  return %1 : tensor<2x?xf64>
}

// CHECK-LABEL: func.func @activations
func.func @activations(%x: tensor<f32>) -> tensor<f32> {
  // CHECK: "xyntra.gelu"(%{{.+}}) {approximate = "none"} : (tensor<f32>) -> tensor<f32>
  %0 = "xyntra.gelu"(%x) {approximate = "none"} : (tensor<f32>) -> tensor<f32>
  // CHECK: "xyntra.gelu"(%{{.+}}) {approximate = "tanh"} : (tensor<f32>) -> tensor<f32>
  %1 = "xyntra.gelu"(%0) {approximate = "tanh"} : (tensor<f32>) -> tensor<f32>
  // CHECK: "xyntra.silu"(%{{.+}}) : (tensor<f32>) -> tensor<f32>
  %2 = "xyntra.silu"(%1) : (tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}
