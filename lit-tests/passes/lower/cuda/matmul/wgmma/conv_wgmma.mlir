// RUN: %xyntra-opt %s --lower-to-gpu | FileCheck %s

// TMA gathers the pixels of a tile, tap by tap.
// CHECK: xyntra.tensor_map = {{.*}}upper
// CHECK: xyntra.schedule = "wgmma-gather tile [64, 64]"
// CHECK-LABEL: gpu.func @k_0(
// CHECK: im2col
// CHECK: nvvm.wgmma.mma_async
// CHECK: gpu.return
func.func @k(%x: tensor<8x30x30x64xf16>, %w: tensor<3x3x64x64xf16>) -> tensor<8x28x28x64xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x28x28x64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<8x28x28x64xf32>) -> tensor<8x28x28x64xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(b, y, x, o, u, v, c) -> (b, y + u, x + v, c)>, affine_map<(b, y, x, o, u, v, c) -> (u, v, c, o)>, affine_map<(b, y, x, o, u, v, c) -> (b, y, x, o)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<8x30x30x64xf16>, tensor<3x3x64x64xf16>) outs(%1 : tensor<8x28x28x64xf32>) {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %p = arith.extf %l : f16 to f32
    %q = arith.extf %r : f16 to f32
    %3 = arith.mulf %p, %q : f32
    %4 = arith.addf %o, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<8x28x28x64xf32>
  return %2 : tensor<8x28x28x64xf32>
}
