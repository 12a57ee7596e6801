// RUN: %xyntra-opt %s --lower-to-gpu | FileCheck %s

// Copies bring stages of both factors, while warps multiply what is in shared memory with tensor cores.
// CHECK: gpu.launch_func @device::@k_0 {{.*}}dynamic_shared_memory_size {{.*}}xyntra.schedule = "mma tile [16, 32] warps [1, 2] stages 3"
// CHECK-LABEL: gpu.func @k_0(
// CHECK: cp.async.cg.shared.global
// CHECK: cp.async.commit_group
// CHECK: scf.for
// CHECK: cp.async.wait_group
// CHECK: gpu.barrier
// CHECK: ldmatrix.sync.aligned.m8n8.x4
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK: gpu.return
func.func @k(%a: tensor<40x72xf16>, %b: tensor<72x96xf16>) -> tensor<40x96xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<40x96xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<40x96xf32>) -> tensor<40x96xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<40x72xf16>, tensor<72x96xf16>) outs(%1 : tensor<40x96xf32>) {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %p = arith.extf %l : f16 to f32
    %q = arith.extf %r : f16 to f32
    %3 = arith.mulf %p, %q : f32
    %4 = arith.addf %o, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<40x96xf32>
  return %2 : tensor<40x96xf32>
}
