// RUN: %xyntra-opt %s --lower-to-gpu | FileCheck %s

// Warps of sixteen queries walk over the keys; no score reaches memory.
// CHECK: xyntra.schedule = "flash warps
// CHECK-LABEL: gpu.func @k_0(
// CHECK: cp.async
// CHECK: mma.sync
// CHECK: ex2.approx
// CHECK: mma.sync
// CHECK: gpu.return
func.func @k(%a0: tensor<1x2x40x64xf16>, %a1: tensor<1x2x70x64xf16>, %a2: tensor<1x2x70x64xf16>) -> tensor<1x2x40x64xf16> {
  %r = "xyntra.attention"(%a0, %a1, %a2) {causal = false, indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>, affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>, affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>, affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>], masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f32, sizes = array<i64: 1, 2, 40, 70, 64, 64>} : (tensor<1x2x40x64xf16>, tensor<1x2x70x64xf16>, tensor<1x2x70x64xf16>) -> tensor<1x2x40x64xf16>
  return %r : tensor<1x2x40x64xf16>
}
