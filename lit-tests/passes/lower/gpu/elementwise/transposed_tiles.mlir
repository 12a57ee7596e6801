// RUN: %xyntra-opt %s --lower-to-gpu=device=webgpu | FileCheck %s

// A tile of a block passes through workgroup memory, whose rows are one element longer.
// CHECK-LABEL: gpu.func @k_0(
// CHECK-SAME: workgroup([[TILE:%[a-z0-9]+]] : memref<{{[0-9]+}}xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64})
// CHECK: memref.store {{%.+}}, [[TILE]]
// CHECK: gpu.barrier
// CHECK: memref.load [[TILE]]
// CHECK: arith.maximumf
// CHECK: gpu.return
func.func @k(%x: tensor<512x640xf32>) -> tensor<640x512xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<640x512xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x640xf32>) outs(%0 : tensor<640x512xf32>) {
  ^bb0(%a: f32, %o: f32):
    %2 = arith.maximumf %a, %zero : f32
    linalg.yield %2 : f32
  } -> tensor<640x512xf32>
  return %1 : tensor<640x512xf32>
}
