// RUN: %xyntra-opt %s --lower-to-gpu=device=webgpu | FileCheck %s

// Two operations that have nothing to do with one another are one launch: the first blocks are the one's, the last the other's.
// CHECK: gpu.launch_func {{.*}}@k_0 blocks in (%c3, %c1, %c1)
// CHECK-NOT: gpu.launch_func
// CHECK-LABEL: gpu.func @k_0(
// CHECK: gpu.block_id x
// CHECK: [[BLOCK:%.+]] = arith.index_castui
// CHECK: [[OWN:%.+]] = arith.subi [[BLOCK]], {{%.+}} : i32
// CHECK: arith.cmpi ult, [[OWN]], {{%.+}} : i32
// CHECK: scf.if
// CHECK: math.absf
// CHECK: vector.store
// CHECK: arith.subi [[BLOCK]], {{%.+}} : i32
// CHECK: scf.if
// CHECK: arith.mulf
// CHECK: vector.store
// CHECK-NOT: gpu.func
func.func @k(%x: tensor<2048xf32>, %y: tensor<96xf32>) -> (tensor<2048xf32>, tensor<96xf32>) {
  %0 = tensor.empty() : tensor<2048xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<2048xf32>) outs(%0 : tensor<2048xf32>) {
  ^bb0(%a: f32, %o: f32):
    %4 = math.absf %a : f32
    linalg.yield %4 : f32
  } -> tensor<2048xf32>
  %2 = tensor.empty() : tensor<96xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%y : tensor<96xf32>) outs(%2 : tensor<96xf32>) {
  ^bb0(%a: f32, %o: f32):
    %4 = arith.mulf %a, %a : f32
    linalg.yield %4 : f32
  } -> tensor<96xf32>
  return %1, %3 : tensor<2048xf32>, tensor<96xf32>
}
