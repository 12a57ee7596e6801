// RUN: %xyntra-opt %s --lower-to-gpu=device=webgpu | FileCheck %s

// A subgroup takes a row, which it holds in registers; butterflies find its maximum and its sum.
// CHECK-LABEL: gpu.func @k_0(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<100x320xf32>, [[Y:%[a-z0-9]+]]: memref<100x320xf32>)
// CHECK-COUNT-2: vector.load
// CHECK-COUNT-5: gpu.shuffle xor {{%.+}}, {{%.+}}, %c32_i32 : i32
// CHECK: math.exp2
// CHECK-COUNT-5: gpu.shuffle xor {{%.+}}, {{%.+}}, %c32_i32 : i32
// CHECK: arith.divf
// CHECK-NOT: vector.load
// CHECK-COUNT-2: vector.store
// CHECK: gpu.return
func.func @k(%x: tensor<100x320xf32>) -> tensor<100x320xf32> {
  %0 = "xyntra.softmax"(%x) {axis = 1 : i64} : (tensor<100x320xf32>) -> tensor<100x320xf32>
  return %0 : tensor<100x320xf32>
}
