// RUN: %xyntra-opt %s --lower-to-gpu=device=webgpu | FileCheck %s

// Threads side by side take columns; those above one another meet in workgroup memory.
// CHECK-LABEL: gpu.func @k_0(
// CHECK-SAME: workgroup([[WORDS:%[a-z0-9]+]] : memref<{{[0-9]+}}xf32, #gpu.address_space<workgroup>>
// CHECK: arith.maximumf
// CHECK: memref.store {{%.+}}, [[WORDS]]
// CHECK: gpu.barrier
// CHECK: memref.load [[WORDS]]
// CHECK-NOT: gpu.shuffle
// CHECK: gpu.return
func.func @k(%x: tensor<300x512xf32>) -> tensor<512xf32> {
  %start = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<512xf32>
  %1 = linalg.fill ins(%start : f32) outs(%0 : tensor<512xf32>) -> tensor<512xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<300x512xf32>) outs(%1 : tensor<512xf32>) {
  ^bb0(%a: f32, %o: f32):
    %3 = arith.maximumf %o, %a : f32
    linalg.yield %3 : f32
  } -> tensor<512xf32>
  return %2 : tensor<512xf32>
}
