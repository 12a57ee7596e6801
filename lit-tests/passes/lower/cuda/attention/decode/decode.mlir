// RUN: %xyntra-opt %s --lower-to-gpu | FileCheck %s

// The blocks of a cluster share out the keys of few queries, and put their results together.
// CHECK: gpu.launch_func @device::@k_0 clusters in
// CHECK-SAME: xyntra.schedule = "flash-decode
// CHECK-LABEL: gpu.func @k_0(
// CHECK: cp.async
// CHECK: mma.sync
// CHECK: mapa
// CHECK: gpu.return
func.func @k(%a0: tensor<1x2x1x64xf16>, %a1: tensor<1x2x4096x64xf16>, %a2: tensor<1x2x4096x64xf16>) -> tensor<1x2x1x64xf16> {
  %r = "xyntra.attention"(%a0, %a1, %a2) {causal = false, indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>, affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>, affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>, affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>], masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f32, sizes = array<i64: 1, 2, 1, 4096, 64, 64>} : (tensor<1x2x1x64xf16>, tensor<1x2x4096x64xf16>, tensor<1x2x4096x64xf16>) -> tensor<1x2x1x64xf16>
  return %r : tensor<1x2x1x64xf16>
}
