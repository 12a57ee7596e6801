// RUN: %xyntra-opt %s --lower-to-gpu=device=webgpu | FileCheck %s

// A block reduces a row: vectors in each thread, then twice sixteen words of shared memory.
// CHECK-LABEL: gpu.func @k_0(
// CHECK-SAME: workgroup([[PARTS:%[a-z0-9]+]] : memref<16xf32, #gpu.address_space<workgroup>>
// CHECK-SAME: [[WORDS:%[a-z0-9]+]] : memref<256xf32, #gpu.address_space<workgroup>>
// CHECK: scf.for {{.*}} -> (vector<4xf32>)
// CHECK: vector.load
// CHECK: memref.store {{%.+}}, [[WORDS]]
// CHECK: gpu.barrier
// CHECK-COUNT-16: memref.load [[WORDS]]
// CHECK: memref.store {{%.+}}, [[PARTS]]
// CHECK: gpu.barrier
// CHECK-COUNT-16: memref.load [[PARTS]]
// CHECK-NOT: gpu.shuffle
// CHECK: gpu.return
func.func @k(%x: tensor<200x5000xf32>) -> tensor<200xf32> {
  %start = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<200xf32>
  %1 = linalg.fill ins(%start : f32) outs(%0 : tensor<200xf32>) -> tensor<200xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<200x5000xf32>) outs(%1 : tensor<200xf32>) {
  ^bb0(%a: f32, %o: f32):
    %3 = arith.addf %o, %a : f32
    linalg.yield %3 : f32
  } -> tensor<200xf32>
  return %2 : tensor<200xf32>
}
