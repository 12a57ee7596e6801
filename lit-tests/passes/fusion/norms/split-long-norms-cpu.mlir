// RUN: %xyntra-opt %s --split-long-norms=target=cpu | FileCheck %s

// A kernel computes no single long row together with what follows it; its parts are rows.
// CHECK-LABEL: func.func @one_row(
// CHECK-NOT: xyntra.layer_norm
// CHECK: %[[PARTS:.+]] = tensor.expand_shape %arg0 {{.+}} : tensor<1x153600xf32> into tensor<1x150x1024xf32>
// CHECK: ins(%arg0, %{{.+}}, %{{.+}} : tensor<1x153600xf32>, tensor<f32>, tensor<f32>) outs(%{{.+}} : tensor<1x153600xf32>)
func.func @one_row(%x: tensor<1x153600xf32>) -> tensor<1x153600xf32> {
  %0 = "xyntra.layer_norm"(%x) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<1x153600xf32>) -> tensor<1x153600xf32>
  return %0 : tensor<1x153600xf32>
}

// CHECK-LABEL: func.func @longer_than_a_worker_keeps(
// CHECK-NOT: xyntra.rms_norm
// CHECK: return
func.func @longer_than_a_worker_keeps(%x: tensor<2x524288xf32>) -> tensor<2x524288xf32> {
  %0 = "xyntra.rms_norm"(%x) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0>} : (tensor<2x524288xf32>) -> tensor<2x524288xf32>
  return %0 : tensor<2x524288xf32>
}

// Rows that a worker keeps to itself, and a short one, stay whole.
// CHECK-LABEL: func.func @rows(
// CHECK-COUNT-2: xyntra.layer_norm
func.func @rows(%x: tensor<2x65536xf32>, %y: tensor<1x4096xf32>) -> (tensor<2x65536xf32>, tensor<1x4096xf32>) {
  %0 = "xyntra.layer_norm"(%x) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<2x65536xf32>) -> tensor<2x65536xf32>
  %1 = "xyntra.layer_norm"(%y) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<1x4096xf32>) -> tensor<1x4096xf32>
  return %0, %1 : tensor<2x65536xf32>, tensor<1x4096xf32>
}
