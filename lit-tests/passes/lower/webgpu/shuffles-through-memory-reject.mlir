// RUN: not %xyntra-opt %s --shuffles-through-memory --split-input-file 2>&1 | FileCheck %s

// CHECK: only some threads of a block may reach a shuffle
gpu.module @few {
  gpu.func @some(%x: memref<64xi32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %0 = arith.constant 0 : index
    %c = arith.cmpi eq, %t, %0 : index
    scf.if %c {
      %one = arith.constant 1 : i32
      %3, %valid = gpu.shuffle xor %one, %one, %one : i32
    }
    gpu.return
  }
}

// -----

// CHECK: a shuffle is no exchange of words between pairs of threads
gpu.module @up {
  gpu.func @f(%x: memref<64xi32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %one = arith.constant 1 : i32
    %32 = arith.constant 32 : i32
    %2 = memref.load %x[%t] : memref<64xi32>
    %3, %valid = gpu.shuffle up %2, %one, %32 : i32
    memref.store %3, %x[%t] : memref<64xi32>
    gpu.return
  }
}
