// RUN: not %xyntra-opt %s --lower-gpu-to-spirv 2>&1 | FileCheck %s

// CHECK: a buffer has elements of several types
module attributes {gpu.container_module} {
  gpu.module @device {
    gpu.func @bytes(%x: memref<64xi8>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %0 = arith.constant 0 : index
      %v = memref.view %x[%0][] : memref<64xi8> to memref<16xf32>
      %1 = memref.load %v[%0] : memref<16xf32>
      memref.store %1, %v[%0] : memref<16xf32>
      gpu.return
    }
  }
}
