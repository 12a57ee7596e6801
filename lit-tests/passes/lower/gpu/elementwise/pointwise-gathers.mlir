// RUN: %xyntra-opt %s --lower-to-gpu=device=webgpu | FileCheck %s

// A row of a table is read where an index says, which is looked up once for a vector.
// CHECK-LABEL: gpu.func @k_0(
// CHECK: [[NUMBER:%.+]] = memref.load {{%.+}} : memref<7xi64>
// CHECK: [[PLACE:%.+]] = arith.index_cast [[NUMBER]] : i64 to index
// CHECK: [[VALUE:%.+]] = vector.load {{%.+}}{{\[}}[[PLACE]], {{%.+}}] {{.*}} : memref<50x64xf32>, vector<4xf32>
// CHECK: vector.store [[VALUE]]
// CHECK: gpu.return
func.func @k(%i: tensor<7xi64>, %x: tensor<50x64xf32>) -> tensor<7x64xf32> {
  %0 = tensor.empty() : tensor<7x64xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%i : tensor<7xi64>) outs(%0 : tensor<7x64xf32>) {
  ^bb0(%a: i64, %o: f32):
    %2 = arith.index_cast %a : i64 to index
    %3 = linalg.index 1 : index
    %4 = tensor.extract %x[%2, %3] : tensor<50x64xf32>
    linalg.yield %4 : f32
  } -> tensor<7x64xf32>
  return %1 : tensor<7x64xf32>
}
