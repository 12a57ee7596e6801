// RUN: %xyntra-opt %s --lower-to-gpu | FileCheck %s

// One warpgroup copies tiles of both factors by TMA, the others multiply them; mbarriers say what is there.
// CHECK: xyntra.tensor_map
// CHECK: xyntra.schedule = "wgmma tile [128, 256]"
// CHECK-LABEL: gpu.func @k_0(
// CHECK: nvvm.mbarrier.init
// CHECK: nvvm.setmaxregister
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: nvvm.cp.async.bulk.tensor
// CHECK: nvvm.wgmma.mma_async
// CHECK: gpu.return
func.func @k(%a: tensor<2048x1024xf16>, %b: tensor<1024x2048xf16>) -> tensor<2048x2048xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<2048x2048xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<2048x1024xf16>, tensor<1024x2048xf16>) outs(%1 : tensor<2048x2048xf32>) {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %p = arith.extf %l : f16 to f32
    %q = arith.extf %r : f16 to f32
    %3 = arith.mulf %p, %q : f32
    %4 = arith.addf %o, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<2048x2048xf32>
  return %2 : tensor<2048x2048xf32>
}
