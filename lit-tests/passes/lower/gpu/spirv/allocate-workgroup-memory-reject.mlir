// RUN: %xyntra-opt %s --allocate-workgroup-memory | FileCheck %s

module attributes {gpu.container_module} {
  gpu.module @device {
    // A function without such memory stays as it is.
    // CHECK-LABEL: gpu.func @plain(
    // CHECK-SAME: [[X:%[a-z0-9]+]]: memref<64xf32>) kernel
    // CHECK-NOT: memref.alloc
    // CHECK: gpu.return
    gpu.func @plain(%x: memref<64xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      gpu.return
    }
  }
}
