// RUN: not %xyntra-opt %s --pack-buffers=limit=2 2>&1 | FileCheck %s

// CHECK: a launch writes to 2 buffers, and 2 can be bound
module attributes {gpu.container_module} {
  func.func @host(%a: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {
    %1 = arith.constant 1 : index
    gpu.launch_func @device::@copies blocks in (%1, %1, %1) threads in (%1, %1, %1) args(%a : memref<4xf32>, %y : memref<4xf32>, %z : memref<4xf32>)
    return
  }
  gpu.module @device {
    gpu.func @copies(%a: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) kernel {
      %t = gpu.thread_id x
      %0 = memref.load %a[%t] : memref<4xf32>
      memref.store %0, %y[%t] : memref<4xf32>
      memref.store %0, %z[%t] : memref<4xf32>
      gpu.return
    }
  }
}
