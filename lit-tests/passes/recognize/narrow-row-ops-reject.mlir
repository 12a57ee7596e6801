// RUN: %xyntra-opt %s --narrow-row-ops | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>

// The normalised f32 is read, too.
// CHECK-LABEL: func.func @wide_result(
// CHECK: "xyntra.rms_norm"({{.+}} -> tensor<4x8xf32>
// CHECK: arith.truncf
func.func @wide_result(%x: tensor<4x8xf16>) -> (tensor<4x8xf16>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %h = tensor.empty() : tensor<4x8xf16>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf16>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f16, %o: f32):
    %w = arith.extf %p : f16 to f32
    linalg.yield %w : f32
  } -> tensor<4x8xf32>
  %1 = "xyntra.rms_norm"(%0) {axis = 1 : i64, epsilon = 1.0e-6 : f32, operandSegmentSizes = array<i32: 1, 0>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%1 : tensor<4x8xf32>) outs(%h : tensor<4x8xf16>) {
  ^bb0(%p: f32, %o: f16):
    %w = arith.truncf %p : f32 to f16
    linalg.yield %w : f16
  } -> tensor<4x8xf16>
  return %2, %1 : tensor<4x8xf16>, tensor<4x8xf32>
}

// The scale has more digits than 16 bits hold.
// CHECK-LABEL: func.func @wide_scale(
// CHECK: "xyntra.rms_norm"({{.+}} -> tensor<4x8xf32>
func.func @wide_scale(%x: tensor<4x8xf16>, %scale: tensor<8xf32>) -> tensor<4x8xf16> {
  %e = tensor.empty() : tensor<4x8xf32>
  %h = tensor.empty() : tensor<4x8xf16>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf16>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f16, %o: f32):
    %w = arith.extf %p : f16 to f32
    linalg.yield %w : f32
  } -> tensor<4x8xf32>
  %1 = "xyntra.rms_norm"(%0, %scale) {axis = 1 : i64, epsilon = 1.0e-6 : f32, operandSegmentSizes = array<i32: 1, 1>} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%1 : tensor<4x8xf32>) outs(%h : tensor<4x8xf16>) {
  ^bb0(%p: f32, %o: f16):
    %w = arith.truncf %p : f32 to f16
    linalg.yield %w : f16
  } -> tensor<4x8xf16>
  return %2 : tensor<4x8xf16>
}

// From one narrow type to the other.
// CHECK-LABEL: func.func @two_types(
// CHECK: "xyntra.softmax"({{.+}} -> tensor<4x8xf32>
func.func @two_types(%x: tensor<4x8xf16>) -> tensor<4x8xbf16> {
  %e = tensor.empty() : tensor<4x8xf32>
  %h = tensor.empty() : tensor<4x8xbf16>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf16>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f16, %o: f32):
    %w = arith.extf %p : f16 to f32
    linalg.yield %w : f32
  } -> tensor<4x8xf32>
  %1 = "xyntra.softmax"(%0) {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%1 : tensor<4x8xf32>) outs(%h : tensor<4x8xbf16>) {
  ^bb0(%p: f32, %o: bf16):
    %w = arith.truncf %p : f32 to bf16
    linalg.yield %w : bf16
  } -> tensor<4x8xbf16>
  return %2 : tensor<4x8xbf16>
}
