// RUN: %xyntra-opt %s --narrow-row-ops | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>

// As T5 and Llama write it: the norm in f32, and a scale of 16 bits behind it.
// CHECK-LABEL: func.func @scaled_rms_norm(
// CHECK-NOT: arith.extf
// CHECK: %[[Y:.+]] = "xyntra.rms_norm"(%arg0, %arg1) {axis = 1 : i64, epsilon = 9.99999997E-7 : f32, operandSegmentSizes = array<i32: 1, 1>} : (tensor<4x8xf16>, tensor<8xf16>) -> tensor<4x8xf16>
// CHECK-NEXT: return %[[Y]]
func.func @scaled_rms_norm(%x: tensor<4x8xf16>, %scale: tensor<8xf16>) -> tensor<4x8xf16> {
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
  %3 = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%scale, %2 : tensor<8xf16>, tensor<4x8xf16>) outs(%h : tensor<4x8xf16>) {
  ^bb0(%s: f16, %p: f16, %o: f16):
    %w = arith.mulf %s, %p : f16
    linalg.yield %w : f16
  } -> tensor<4x8xf16>
  return %3 : tensor<4x8xf16>
}

// As CLIP does: everything is converted, weights too. What f32 is read elsewhere, too, stays.
// CHECK-LABEL: func.func @layer_norm(
// CHECK: %[[W:.+]] = linalg.generic {{.+}} ins(%arg0
// CHECK: %[[Y:.+]] = "xyntra.layer_norm"(%arg0, %arg1, %arg2) {{.+}} -> tensor<4x8xbf16>
// CHECK-NEXT: return %[[Y]], %[[W]]
func.func @layer_norm(%x: tensor<4x8xbf16>, %scale: tensor<8xbf16>, %bias: tensor<8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %v = tensor.empty() : tensor<8xf32>
  %h = tensor.empty() : tensor<4x8xbf16>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xbf16>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: bf16, %o: f32):
    %w = arith.extf %p : bf16 to f32
    linalg.yield %w : f32
  } -> tensor<4x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%scale : tensor<8xbf16>) outs(%v : tensor<8xf32>) {
  ^bb0(%p: bf16, %o: f32):
    %w = arith.extf %p : bf16 to f32
    linalg.yield %w : f32
  } -> tensor<8xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%bias : tensor<8xbf16>) outs(%v : tensor<8xf32>) {
  ^bb0(%p: bf16, %o: f32):
    %w = arith.extf %p : bf16 to f32
    linalg.yield %w : f32
  } -> tensor<8xf32>
  %1 = "xyntra.layer_norm"(%0, %s, %b) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%1 : tensor<4x8xf32>) outs(%h : tensor<4x8xbf16>) {
  ^bb0(%p: f32, %o: bf16):
    %w = arith.truncf %p : f32 to bf16
    linalg.yield %w : bf16
  } -> tensor<4x8xbf16>
  return %2, %0 : tensor<4x8xbf16>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @softmax(
// CHECK-NOT: linalg.generic
// CHECK: "xyntra.softmax"(%arg0) {axis = 0 : i64} : (tensor<4x8xf16>) -> tensor<4x8xf16>
// CHECK-NEXT: return
func.func @softmax(%x: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %e = tensor.empty() : tensor<4x8xf32>
  %h = tensor.empty() : tensor<4x8xf16>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf16>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f16, %o: f32):
    %w = arith.extf %p : f16 to f32
    linalg.yield %w : f32
  } -> tensor<4x8xf32>
  %1 = "xyntra.softmax"(%0) {axis = 0 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%1 : tensor<4x8xf32>) outs(%h : tensor<4x8xf16>) {
  ^bb0(%p: f32, %o: f16):
    %w = arith.truncf %p : f32 to f16
    linalg.yield %w : f16
  } -> tensor<4x8xf16>
  return %2 : tensor<4x8xf16>
}
