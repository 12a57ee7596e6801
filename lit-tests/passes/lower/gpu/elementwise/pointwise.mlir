// RUN: %xyntra-opt %s --lower-to-gpu=device=webgpu | FileCheck %s

// A thread computes four neighbours; a bias that all rows share is read along them.
// CHECK-LABEL: gpu.func @k_0(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<16x128xf32>, [[B:%[a-z0-9]+]]: memref<128xf32>, [[Y:%[a-z0-9]+]]: memref<16x128xf32>)
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK: [[BLOCK:%.+]] = gpu.block_id x
// CHECK: [[THREAD:%.+]] = gpu.thread_id x
// CHECK: vector.load {{%.+}}[{{%.+}}] {alignment = 16 : i64} : memref<2048xf32>, vector<4xf32>
// CHECK: vector.load {{%.+}}[{{%.+}}] {alignment = 16 : i64} : memref<128xf32>, vector<4xf32>
// CHECK: [[SUM:%.+]] = arith.addf {{.*}} : vector<4xf32>
// CHECK: vector.store [[SUM]], {{%.+}}[{{%.+}}] {alignment = 16 : i64} : memref<2048xf32>, vector<4xf32>
// CHECK: gpu.return
func.func @k(%x: tensor<16x128xf32>, %b: tensor<128xf32>) -> tensor<16x128xf32> {
  %0 = tensor.empty() : tensor<16x128xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %b : tensor<16x128xf32>, tensor<128xf32>) outs(%0 : tensor<16x128xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %2 = arith.addf %a, %c : f32
    linalg.yield %2 : f32
  } -> tensor<16x128xf32>
  return %1 : tensor<16x128xf32>
}
