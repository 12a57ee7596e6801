// RUN: %xyntra-opt %s --lower-to-gpu=device=webgpu | FileCheck %s

// Threads walk over the keys; no score reaches a buffer.
// CHECK: xyntra.schedule = "attention-rows
// CHECK-LABEL: gpu.func @k_0(
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK: math.exp2
// CHECK: gpu.return
// CHECK-NOT: gpu.func
func.func @k(%a0: tensor<1x4x256x64xf32>, %a1: tensor<1x4x300x64xf32>, %a2: tensor<1x4x300x64xf32>) -> tensor<1x4x256x64xf32> {
  %r = "xyntra.attention"(%a0, %a1, %a2) {causal = false, indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>, affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>, affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>, affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>], masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f32, sizes = array<i64: 1, 4, 256, 300, 64, 64>} : (tensor<1x4x256x64xf32>, tensor<1x4x300x64xf32>, tensor<1x4x300x64xf32>) -> tensor<1x4x256x64xf32>
  return %r : tensor<1x4x256x64xf32>
}
