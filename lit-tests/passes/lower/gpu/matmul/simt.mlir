// RUN: %xyntra-opt %s --lower-to-gpu=device=webgpu | FileCheck %s

// A tile of both factors passes through workgroup memory, while the next one is loaded.
// CHECK-LABEL: gpu.func @k_0(
// CHECK-SAME: workgroup([[A:%[a-z0-9]+]] : memref<{{[0-9]+}}xi32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}, [[B:%[a-z0-9]+]] : memref<
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK: memref.store {{%.+}}, [[A]]
// CHECK: memref.store {{%.+}}, [[B]]
// CHECK: gpu.barrier
// CHECK: arith.muli {{.*}} : i32
// CHECK: gpu.return
func.func @k(%a: tensor<65x70xi32>, %b: tensor<70x130xi32>) -> tensor<65x130xi32> {
  %zero = arith.constant 0 : i32
  %0 = tensor.empty() : tensor<65x130xi32>
  %1 = linalg.fill ins(%zero : i32) outs(%0 : tensor<65x130xi32>) -> tensor<65x130xi32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<65x70xi32>, tensor<70x130xi32>) outs(%1 : tensor<65x130xi32>) {
  ^bb0(%l: i32, %r: i32, %o: i32):
    %3 = arith.muli %l, %r : i32
    %4 = arith.addi %o, %3 : i32
    linalg.yield %4 : i32
  } -> tensor<65x130xi32>
  return %2 : tensor<65x130xi32>
}
