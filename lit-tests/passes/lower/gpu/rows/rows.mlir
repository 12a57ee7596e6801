// RUN: %xyntra-opt %s --lower-to-gpu=device=webgpu | FileCheck %s

// A block takes a row that is too long for registers; its threads meet between the passes over it.
// CHECK-LABEL: gpu.func @k_0(
// CHECK-SAME: memref<256xf32, #gpu.address_space<workgroup>>
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK: gpu.return
func.func @k(%x: tensor<300x60000xf32>) -> tensor<300x60000xf32> {
  %0 = "xyntra.softmax"(%x) {axis = 1 : i64} : (tensor<300x60000xf32>) -> tensor<300x60000xf32>
  return %0 : tensor<300x60000xf32>
}
