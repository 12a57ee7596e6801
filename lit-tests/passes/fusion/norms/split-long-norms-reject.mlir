// RUN: %xyntra-opt %s --split-long-norms | FileCheck %s

// Blocks hold these rows, and there are enough for all multiprocessors.
// CHECK-LABEL: func.func @many_rows(
// CHECK: xyntra.layer_norm
func.func @many_rows(%x: tensor<512x65536xf16>) -> tensor<512x65536xf16> {
  %0 = "xyntra.layer_norm"(%x) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<512x65536xf16>) -> tensor<512x65536xf16>
  return %0 : tensor<512x65536xf16>
}

// One launch is over before two more would start.
// CHECK-LABEL: func.func @short_row(
// CHECK: xyntra.rms_norm
func.func @short_row(%x: tensor<1x8192xf16>) -> tensor<1x8192xf16> {
  %0 = "xyntra.rms_norm"(%x) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0>} : (tensor<1x8192xf16>) -> tensor<1x8192xf16>
  return %0 : tensor<1x8192xf16>
}

// A prime number of elements has no equal parts.
// CHECK-LABEL: func.func @prime(
// CHECK: xyntra.layer_norm
func.func @prime(%x: tensor<1x1000003xf32>) -> tensor<1x1000003xf32> {
  %0 = "xyntra.layer_norm"(%x) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<1x1000003xf32>) -> tensor<1x1000003xf32>
  return %0 : tensor<1x1000003xf32>
}

#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#mixed = affine_map<(d0, d1, d2) -> (d1, d0, d2)>

// A transpose that mixes rows stays before the norm.
// CHECK-LABEL: func.func @mixed(
// CHECK: %[[TURNED:.+]] = linalg.generic {{.+}} ins(%arg0
// CHECK: tensor.expand_shape
// CHECK: ins(%[[TURNED]], %{{.+}}, %{{.+}} : tensor<2x4096x256xf16>, tensor<2xf32>, tensor<2xf32>)
func.func @mixed(%x: tensor<4096x2x256xf16>) -> tensor<2x4096x256xf16> {
  %e = tensor.empty() : tensor<2x4096x256xf16>
  %0 = linalg.generic {indexing_maps = [#mixed, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<4096x2x256xf16>) outs(%e : tensor<2x4096x256xf16>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  } -> tensor<2x4096x256xf16>
  %1 = "xyntra.layer_norm"(%0) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<2x4096x256xf16>) -> tensor<2x4096x256xf16>
  return %1 : tensor<2x4096x256xf16>
}

#turned = affine_map<(d0, d1, d2) -> (d0, d2, d1)>

// Columns of 2100 places are more than one launch holds.
// CHECK-LABEL: func.func @long_columns(
// CHECK: xyntra.layer_norm
func.func @long_columns(%x: tensor<1x2100x16xf16>) -> tensor<1x16x2100xf16> {
  %e = tensor.empty() : tensor<1x16x2100xf16>
  %0 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<1x2100x16xf16>) outs(%e : tensor<1x16x2100xf16>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  } -> tensor<1x16x2100xf16>
  %1 = "xyntra.layer_norm"(%0) {axis = 2 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<1x16x2100xf16>) -> tensor<1x16x2100xf16>
  return %1 : tensor<1x16x2100xf16>
}
