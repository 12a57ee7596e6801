// RUN: %xyntra-opt %s --inline-into-scores | FileCheck %s
// CHECK-NOT: xyntra.in_tiles

#id = affine_map<(h, s, t) -> (h, s, t)>
#key = affine_map<(h, s, t) -> (0, 0, t)>
#q = affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>
#k = affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>
#v = affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>
#m = affine_map<(b, h, s, t, d, e) -> (h, s, t)>
#o = affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>

// What is returned, too, has to be stored.
// CHECK-LABEL: func.func @returned(
// CHECK: return
func.func @returned(%q: tensor<1x4x256x16xf16>, %k: tensor<1x4x256x16xf16>, %v: tensor<1x4x256x16xf16>, %x: tensor<1x1x256xf32>) -> (tensor<1x4x256x16xf16>, tensor<4x256x256xf32>) {
  %e = tensor.empty() : tensor<4x256x256xf32>
  %bias = linalg.generic {indexing_maps = [#key, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<1x1x256xf32>) outs(%e : tensor<4x256x256xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.addf %a, %a : f32
    linalg.yield %m : f32
  } -> tensor<4x256x256xf32>
  %y = "xyntra.attention"(%q, %k, %v, %bias) {causal = false, indexing_maps = [#q, #k, #v, #m, #o], masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>, scale = 2.5e-01 : f32, sizes = array<i64: 1, 4, 256, 256, 16, 16>} : (tensor<1x4x256x16xf16>, tensor<1x4x256x16xf16>, tensor<1x4x256x16xf16>, tensor<4x256x256xf32>) -> tensor<1x4x256x16xf16>
  return %y, %bias : tensor<1x4x256x16xf16>, tensor<4x256x256xf32>
}

// What reads as much as it gives is no cheaper to compute than to read.
// CHECK-LABEL: func.func @large(
// CHECK: return
func.func @large(%q: tensor<1x4x256x16xf16>, %k: tensor<1x4x256x16xf16>, %v: tensor<1x4x256x16xf16>, %x: tensor<4x256x256xf32>) -> tensor<1x4x256x16xf16> {
  %e = tensor.empty() : tensor<4x256x256xf32>
  %bias = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x256x256xf32>) outs(%e : tensor<4x256x256xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.addf %a, %a : f32
    linalg.yield %m : f32
  } -> tensor<4x256x256xf32>
  %y = "xyntra.attention"(%q, %k, %v, %bias) {causal = false, indexing_maps = [#q, #k, #v, #m, #o], masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>, scale = 2.5e-01 : f32, sizes = array<i64: 1, 4, 256, 256, 16, 16>} : (tensor<1x4x256x16xf16>, tensor<1x4x256x16xf16>, tensor<1x4x256x16xf16>, tensor<4x256x256xf32>) -> tensor<1x4x256x16xf16>
  return %y : tensor<1x4x256x16xf16>
}

// A function for every score takes longer than reading it.
// CHECK-LABEL: func.func @function(
// CHECK: return
func.func @function(%q: tensor<1x4x256x16xf16>, %k: tensor<1x4x256x16xf16>, %v: tensor<1x4x256x16xf16>, %x: tensor<1x1x256xf32>) -> tensor<1x4x256x16xf16> {
  %e = tensor.empty() : tensor<4x256x256xf32>
  %bias = linalg.generic {indexing_maps = [#key, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<1x1x256xf32>) outs(%e : tensor<4x256x256xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = math.sin %a : f32
    linalg.yield %m : f32
  } -> tensor<4x256x256xf32>
  %y = "xyntra.attention"(%q, %k, %v, %bias) {causal = false, indexing_maps = [#q, #k, #v, #m, #o], masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>, scale = 2.5e-01 : f32, sizes = array<i64: 1, 4, 256, 256, 16, 16>} : (tensor<1x4x256x16xf16>, tensor<1x4x256x16xf16>, tensor<1x4x256x16xf16>, tensor<4x256x256xf32>) -> tensor<1x4x256x16xf16>
  return %y : tensor<1x4x256x16xf16>
}
