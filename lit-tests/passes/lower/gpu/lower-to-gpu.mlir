// RUN: %xyntra-opt %s --lower-to-gpu | FileCheck %s

// The host launches blocks of threads with all buffers, in an order that the function holds.
// CHECK: module attributes {gpu.container_module}
// CHECK-LABEL: func.func @k(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<2x1000000xf32>, [[Y:%[a-z0-9]+]]: memref<2xf32>, [[S:%[a-z0-9]+]]: memref<{{[0-9]+}}xi8>)
// CHECK-SAME: xyntra.inputs = 1 : i64
// CHECK-SAME: xyntra.scratch = array<i64:
// CHECK: gpu.launch_func @device::@k_0 blocks in ({{.*}}) threads in ({{.*}}) args([[X]] : memref<2x1000000xf32>, [[Y]] : memref<2xf32>, [[S]] : memref<{{[0-9]+}}xi8>) {xyntra.programmatic, xyntra.schedule = "{{.*}}"}
// CHECK: gpu.launch_func @device::@k_1 blocks in
// CHECK: return
// CHECK: gpu.module @device
// CHECK: gpu.func @k_0(
// CHECK-SAME: kernel attributes {known_block_size = array<i32: {{[0-9]+}}, 1, 1>, xyntra.lasting = array<i1: false, false, false>}
// CHECK: gpu.func @k_1(
func.func @k(%x: tensor<2x1000000xf32>) -> tensor<2xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<2xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<2xf32>) -> tensor<2xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x1000000xf32>) outs(%1 : tensor<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %3 = arith.addf %o, %a : f32
    linalg.yield %3 : f32
  } -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
