// RUN: %xyntra-opt %s --drop-unused-buffers | FileCheck %s

// Scalars and memory that is used stay.
// CHECK: args(%{{.*}} : memref<4xf32>, %{{.*}} : memref<4xf32>)
// CHECK: gpu.func @copy(%{{.*}}: memref<4xf32>, %{{.*}}: memref<4xf32>) kernel
module attributes {gpu.container_module} {
  func.func @host(%x: memref<4xf32>, %z: memref<4xf32>) {
    %1 = arith.constant 1 : index
    gpu.launch_func @device::@copy blocks in (%1, %1, %1) threads in (%1, %1, %1) args(%x : memref<4xf32>, %z : memref<4xf32>)
    return
  }
  gpu.module @device {
    gpu.func @copy(%x: memref<4xf32>, %z: memref<4xf32>) kernel {
      %t = gpu.thread_id x
      %0 = memref.load %x[%t] : memref<4xf32>
      memref.store %0, %z[%t] : memref<4xf32>
      gpu.return
    }
  }
}
