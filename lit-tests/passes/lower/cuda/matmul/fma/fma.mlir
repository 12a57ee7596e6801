// RUN: %xyntra-opt %s --lower-to-gpu | FileCheck %s

// Sums of f32 stay exact: threads multiply and add what copies have brought to shared memory.
// CHECK: xyntra.schedule = "fma tile [32, 32] thread_tile [4, 4]"
// CHECK-LABEL: gpu.func @k_0(
// CHECK: cp.async
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK: llvm.load {{.*}} -> vector<4xf32>
// CHECK-COUNT-16: math.fma
// CHECK-NOT: mma.sync
// CHECK: gpu.return
func.func @k(%a: tensor<40x72xf32>, %b: tensor<72x96xf32>) -> tensor<40x96xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<40x96xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<40x96xf32>) -> tensor<40x96xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<40x72xf32>, tensor<72x96xf32>) outs(%1 : tensor<40x96xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %3 = arith.mulf %l, %r : f32
    %4 = arith.addf %o, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<40x96xf32>
  return %2 : tensor<40x96xf32>
}
