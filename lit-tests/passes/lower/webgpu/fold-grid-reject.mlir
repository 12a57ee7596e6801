// RUN: not %xyntra-opt %s --fold-grid=limit=4 2>&1 | FileCheck %s

// CHECK: a kernel needs 25 blocks of threads
// CHECK: at most 16
module attributes {gpu.container_module} {
  func.func @host(%x: memref<25xindex>) {
    %1 = arith.constant 1 : index
    %25 = arith.constant 25 : index
    gpu.launch_func @device::@many blocks in (%25, %1, %1) threads in (%1, %1, %1) args(%x : memref<25xindex>)
    return
  }
  gpu.module @device {
    gpu.func @many(%x: memref<25xindex>) kernel {
      gpu.return
    }
  }
}
