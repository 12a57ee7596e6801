// RUN: %xyntra-opt %s --allocate-workgroup-memory | FileCheck %s

module attributes {gpu.container_module} {
  gpu.module @device {
    // CHECK-LABEL: gpu.func @shared(
    // CHECK-SAME: [[X:%[a-z0-9]+]]: memref<64xf32>) kernel
    // CHECK-SAME: known_block_size
    // CHECK: [[MEMORY:%.+]] = memref.alloc() : memref<64xf32, #spirv.storage_class<Workgroup>>
    // CHECK: [[VALUE:%.+]] = memref.load [[X]]
    // CHECK: memref.store [[VALUE]], [[MEMORY]][{{%.+}}] : memref<64xf32, #spirv.storage_class<Workgroup>>
    gpu.func @shared(%x: memref<64xf32>) workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      %i = gpu.thread_id x
      %0 = memref.load %x[%i] : memref<64xf32>
      memref.store %0, %s[%i] : memref<64xf32, #gpu.address_space<workgroup>>
      gpu.return
    }
  }
}
