// RUN: %xyntra-opt %s --lower-to-gpu | FileCheck %s

// One thread copies by TMA, warpgroups multiply, and share out registers among them.
// CHECK: xyntra.tensor_map
// CHECK: xyntra.schedule = "flash-warpgroups
// CHECK-LABEL: gpu.func @k_0(
// CHECK: setmaxnreg
// CHECK: cp.async.bulk.tensor
// CHECK: wgmma.mma_async
// CHECK: gpu.return
func.func @k(%a0: tensor<2x16x512x64xf16>, %a1: tensor<2x16x512x64xf16>, %a2: tensor<2x16x512x64xf16>) -> tensor<2x16x512x64xf16> {
  %r = "xyntra.attention"(%a0, %a1, %a2) {causal = false, indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>, affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>, affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>, affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>], masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f32, sizes = array<i64: 2, 16, 512, 512, 64, 64>} : (tensor<2x16x512x64xf16>, tensor<2x16x512x64xf16>, tensor<2x16x512x64xf16>) -> tensor<2x16x512x64xf16>
  return %r : tensor<2x16x512x64xf16>
}
