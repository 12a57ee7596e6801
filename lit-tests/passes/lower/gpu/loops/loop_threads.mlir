// RUN: %xyntra-opt %s --lower-to-gpu=device=webgpu | FileCheck %s

// Each iteration of a loop that may be shared is a thread.
// CHECK-LABEL: gpu.func @k_0(
// CHECK: [[BLOCK:%.+]] = gpu.block_id x
// CHECK: [[THREAD:%.+]] = gpu.thread_id x
// CHECK: scf.for
// CHECK: memref.load {{%.+}} : memref<1000xf32>
// CHECK: scf.if
// CHECK: memref.store {{%.+}} : memref<1000xf32>
// CHECK: gpu.return
func.func @k(%x: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %1000 = arith.constant 1000 : index
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1000xf32>
  %all = scf.for %i = %0 to %1000 step %1 iter_args(%t = %empty) -> (tensor<1000xf32>) {
    %a = tensor.extract %x[%i] : tensor<1000xf32>
    %above = arith.cmpf ogt, %a, %zero : f32
    %v = scf.if %above -> (tensor<1000xf32>) {
      %u = tensor.insert %a into %t[%i] : tensor<1000xf32>
      scf.yield %u : tensor<1000xf32>
    } else {
      %u = tensor.insert %zero into %t[%i] : tensor<1000xf32>
      scf.yield %u : tensor<1000xf32>
    }
    scf.yield %v : tensor<1000xf32>
  } {xyntra.parallel}
  return %all : tensor<1000xf32>
}
