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

#image = affine_map<(n, c, p) -> (n, c, p)>
#turned = affine_map<(n, c, p) -> (n, p, c)>

// Groups of channels that lie innermost: sums of 512 places of each channel, read where they lie.
// CHECK-LABEL: func.func @groups_of_channels(
// CHECK-NOT: xyntra.layer_norm
// CHECK: %[[PLACES:.+]] = tensor.expand_shape %arg0 {{.+}} : tensor<2x1024x32xf32> into tensor<2x2x512x32xf32>
// CHECK: iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%[[PLACES]] : tensor<2x2x512x32xf32>) outs(%{{.+}} : tensor<2x32x2xf32>)
// CHECK: ins(%arg0, %{{.+}}, %{{.+}} : tensor<2x1024x32xf32>, tensor<2x32xf32>, tensor<2x32xf32>)
func.func @groups_of_channels(%x: tensor<2x1024x32xf32>) -> tensor<2x4x8192xf32> {
  %e = tensor.empty() : tensor<2x32x1024xf32>
  %0 = linalg.generic {indexing_maps = [#turned, #image], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x1024x32xf32>) outs(%e : tensor<2x32x1024xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<2x32x1024xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<2x32x1024xf32> into tensor<2x32768xf32>
  %2 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [2, 4, 8192] : tensor<2x32768xf32> into tensor<2x4x8192xf32>
  %3 = "xyntra.layer_norm"(%2) {axis = 2 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<2x4x8192xf32>) -> tensor<2x4x8192xf32>
  return %3 : tensor<2x4x8192xf32>
}

// All channels together are one row in any order.
// CHECK-LABEL: func.func @whole_images(
// CHECK: "xyntra.layer_norm"(%arg0) {axis = 1 : i64
func.func @whole_images(%x: tensor<2x64x32xf32>) -> tensor<2x2048xf32> {
  %e = tensor.empty() : tensor<2x32x64xf32>
  %0 = linalg.generic {indexing_maps = [#turned, #image], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x64x32xf32>) outs(%e : tensor<2x32x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<2x32x64xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<2x32x64xf32> into tensor<2x2048xf32>
  %2 = "xyntra.layer_norm"(%1) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<2x2048xf32>) -> tensor<2x2048xf32>
  return %2 : tensor<2x2048xf32>
}

// Four channels fill no vector.
// CHECK-LABEL: func.func @few_channels(
// CHECK: linalg.generic {{.+}} ins(%arg0 : tensor<2x64x4xf32>) outs(%{{.+}} : tensor<2x4x64xf32>)
// CHECK: xyntra.layer_norm
func.func @few_channels(%x: tensor<2x64x4xf32>) -> tensor<2x2x128xf32> {
  %e = tensor.empty() : tensor<2x4x64xf32>
  %0 = linalg.generic {indexing_maps = [#turned, #image], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x64x4xf32>) outs(%e : tensor<2x4x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<2x4x64xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<2x4x64xf32> into tensor<2x256xf32>
  %2 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [2, 2, 128] : tensor<2x256xf32> into tensor<2x2x128xf32>
  %3 = "xyntra.layer_norm"(%2) {axis = 2 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<2x2x128xf32>) -> tensor<2x2x128xf32>
  return %3 : tensor<2x2x128xf32>
}
