// RUN: %xyntra-opt %s --lower-to-gpu=device=webgpu | FileCheck %s

// The same for a norm, whose scale and shift all rows share.
// CHECK-LABEL: gpu.func @k_0(
// CHECK: vector.load
// CHECK: gpu.shuffle xor
// CHECK: math.sqrt
// CHECK: vector.store
// CHECK: gpu.return
func.func @k(%x: tensor<64x256xf32>, %g: tensor<256xf32>, %b: tensor<256xf32>) -> tensor<64x256xf32> {
  %0 = "xyntra.layer_norm"(%x, %g, %b) {axis = 1 : i64, epsilon = 9.99999974E-6 : f32, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x256xf32>, tensor<256xf32>, tensor<256xf32>) -> tensor<64x256xf32>
  return %0 : tensor<64x256xf32>
}
