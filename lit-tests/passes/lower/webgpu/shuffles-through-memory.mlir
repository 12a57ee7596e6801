// RUN: %xyntra-opt %s --shuffles-through-memory | FileCheck %s

// CHECK: gpu.func @pairs
// CHECK: [[WORDS:%.+]] = memref.alloc() : memref<64xi32, #spirv.storage_class<Workgroup>>
// CHECK: [[T:%.+]] = gpu.thread_id x
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK-NEXT: memref.store %{{.*}}, [[WORDS]]{{\[}}[[T]]]
// CHECK-NEXT: gpu.barrier
// CHECK: [[OTHER:%.+]] = arith.xori
// CHECK: memref.load [[WORDS]]
// CHECK-NOT: gpu.shuffle
module {
  gpu.module @device {
    gpu.func @pairs(%x: memref<64xi32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      %one = arith.constant 1 : i32
      %32 = arith.constant 32 : i32
      scf.for %i = %0 to %b step %1 {
        %2 = memref.load %x[%t] : memref<64xi32>
        %3, %valid = gpu.shuffle xor %2, %one, %32 : i32
        memref.store %3, %x[%t] : memref<64xi32>
      }
      gpu.return
    }
  }
}
