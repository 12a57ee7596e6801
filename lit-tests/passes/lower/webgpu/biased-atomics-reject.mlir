// RUN: not %xyntra-opt %s --biased-atomics 2>&1 | FileCheck %s

// CHECK: signed maxima are taken atomically of what is no scratch memory
module attributes {gpu.container_module} {
  func.func @k(%x: memref<4xi32>, %y: memref<4xi32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "generic"}>, xyntra.inputs = 1 : i64, xyntra.scratch = array<i64>} {
    %1 = arith.constant 1 : index
    gpu.launch_func @device::@largest blocks in (%1, %1, %1) threads in (%1, %1, %1) args(%x : memref<4xi32>, %y : memref<4xi32>)
    return
  }
  gpu.module @device {
    gpu.func @largest(%x: memref<4xi32>, %y: memref<4xi32>) kernel {
      %t = gpu.thread_id x
      %v = memref.load %x[%t] : memref<4xi32>
      %0 = memref.atomic_rmw maxs %v, %y[%t] : (i32, memref<4xi32>) -> i32
      gpu.return
    }
  }
}
