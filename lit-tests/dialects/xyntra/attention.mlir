// RUN: %xyntra-opt %s | %xyntra-opt | FileCheck %s

// Heads before positions.
// CHECK-LABEL: func.func @plain
func.func @plain(%q: tensor<1x2x3x5xf32>, %k: tensor<1x2x4x5xf32>, %v: tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32> {
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#map, #map1, #map2, #map3],
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 1.250000e-01 : f32, sizes = array<i64: 1, 2, 3, 4, 5, 6>}
  %r = "xyntra.attention"(%q, %k, %v) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return %r : tensor<1x2x3x6xf32>
}

// One tensor that holds queries, keys and values; two query heads share a key; both masks.
// CHECK-LABEL: func.func @merged
func.func @merged(%x: tensor<4x40xbf16>, %keep: tensor<4xi1>, %bias: tensor<4x4xf32>) -> tensor<1x4x20xbf16> {
  // CHECK: "xyntra.attention"(%arg0, %arg0, %arg0, %arg1, %arg2) {causal = true, causal_offset = -1 : i64, fill = -1.000000e+04 : f32,
  // CHECK-SAME: operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>
  %r = "xyntra.attention"(%x, %x, %x, %keep, %bias) {
    scale = 0.125 : f32, causal = true, masked_rows = "zero", sizes = array<i64: 1, 4, 4, 4, 5, 5>, causal_offset = -1 : i64, fill = -1.0e+04 : f32,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (s, h * 5 + d)>,
      affine_map<(b, h, s, t, d, e) -> (t, (h floordiv 2) * 5 + d + 20)>,
      affine_map<(b, h, s, t, d, e) -> (t, (h floordiv 2) * 5 + e + 30)>,
      affine_map<(b, h, s, t, d, e) -> (t)>,
      affine_map<(b, h, s, t, d, e) -> (s, t)>,
      affine_map<(b, h, s, t, d, e) -> (b, s, h * 5 + e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>}
    : (tensor<4x40xbf16>, tensor<4x40xbf16>, tensor<4x40xbf16>, tensor<4xi1>, tensor<4x4xf32>) -> tensor<1x4x20xbf16>
  return %r : tensor<1x4x20xbf16>
}

// The result may be written heads last, which costs nothing.
// CHECK-LABEL: func.func @transposed
func.func @transposed(%q: tensor<6x2x4xf16>, %kv: tensor<2x6x4xf16>) -> tensor<6x8xf16> {
  // CHECK: "xyntra.attention"
  %r = "xyntra.attention"(%q, %kv, %kv) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 6, 6, 4, 4>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (s, h, d)>,
      affine_map<(b, h, s, t, d, e) -> (h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (s, h * 4 + e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<6x2x4xf16>, tensor<2x6x4xf16>, tensor<2x6x4xf16>) -> tensor<6x8xf16>
  return %r : tensor<6x8xf16>
}
