// RUN: %xyntra-opt %s --biased-atomics | FileCheck %s

// CHECK: gpu.func @fill
// CHECK: [[A:%.+]] = arith.xori %{{.*}}, %c-2147483648_i32
// CHECK: memref.store [[A]]
// CHECK: gpu.func @largest
// CHECK: [[B:%.+]] = arith.xori %{{.*}}, %c-2147483648_i32
// CHECK: memref.atomic_rmw maxu [[B]]
// CHECK: [[C:%.+]] = memref.load
// CHECK: arith.xori [[C]], %c-2147483648_i32
module attributes {gpu.container_module} {
  func.func @k(%x: memref<4xi32>, %y: memref<4xi32>, %s: memref<16xi32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "generic"}>, xyntra.inputs = 1 : i64, xyntra.scratch = array<i64: 64>} {
    %1 = arith.constant 1 : index
    gpu.launch_func @device::@fill blocks in (%1, %1, %1) threads in (%1, %1, %1) args(%s : memref<16xi32>)
    gpu.launch_func @device::@largest blocks in (%1, %1, %1) threads in (%1, %1, %1) args(%y : memref<4xi32>, %s : memref<16xi32>)
    return
  }
  gpu.module @device {
    gpu.func @fill(%s: memref<16xi32>) kernel {
      %t = gpu.thread_id x
      %0 = arith.constant -1 : i32
      memref.store %0, %s[%t] : memref<16xi32>
      gpu.return
    }
    gpu.func @largest(%y: memref<4xi32>, %s: memref<16xi32>) kernel {
      %t = gpu.thread_id x
      %v = memref.load %y[%t] : memref<4xi32>
      %0 = memref.atomic_rmw maxs %v, %s[%t] : (i32, memref<16xi32>) -> i32
      gpu.barrier
      %1 = memref.load %s[%t] : memref<16xi32>
      memref.store %1, %y[%t] : memref<4xi32>
      gpu.return
    }
  }
}
