// RUN: %xyntra-opt %s --lower-to-gpu=device=webgpu | FileCheck %s

// A block adds up a row, tile after tile: neighbours in a thread, butterflies, words of subgroups.
// CHECK-LABEL: gpu.func @k_0(
// CHECK-SAME: workgroup([[WORDS:%[a-z0-9]+]] : memref<8xf32, #gpu.address_space<workgroup>>
// CHECK: scf.for
// CHECK-COUNT-4: memref.load
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: memref.store {{%.+}}, [[WORDS]]
// CHECK: gpu.barrier
// CHECK: gpu.return
func.func @k(%x: tensor<8x3000xf32>) -> tensor<8x3000xf32> {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %8 = arith.constant 8 : index
  %3000 = arith.constant 3000 : index
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x3000xf32>
  %all = scf.for %i = %0 to %8 step %1 iter_args(%t = %empty) -> (tensor<8x3000xf32>) {
    %row:2 = scf.for %j = %0 to %3000 step %1 iter_args(%u = %t, %sum = %zero) -> (tensor<8x3000xf32>, f32) {
      %a = tensor.extract %x[%i, %j] : tensor<8x3000xf32>
      %next = arith.addf %sum, %a : f32
      %v = tensor.insert %next into %u[%i, %j] : tensor<8x3000xf32>
      scf.yield %v, %next : tensor<8x3000xf32>, f32
    }
    scf.yield %row#0 : tensor<8x3000xf32>
  } {xyntra.parallel}
  return %all : tensor<8x3000xf32>
}
