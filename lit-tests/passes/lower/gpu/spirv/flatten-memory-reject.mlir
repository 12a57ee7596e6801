// RUN: not %xyntra-opt %s --flatten-memory --split-input-file 2>&1 | FileCheck %s

// CHECK: a buffer has elements of several types, and it cannot be flat
gpu.module @bytes {
  gpu.func @f(%x: memref<64xi8>) kernel {
    %0 = arith.constant 0 : index
    %v = memref.view %x[%0][] : memref<64xi8> to memref<16xf32>
    %1 = memref.load %v[%0] : memref<16xf32>
    gpu.return
  }
}

// -----

// CHECK: memref.copy touches memory, and it cannot be flat
gpu.module @copies {
  gpu.func @f(%x: memref<64xf32>, %y: memref<64xf32>) kernel {
    memref.copy %x, %y : memref<64xf32> to memref<64xf32>
    gpu.return
  }
}

// -----

// CHECK: the layout of memref<?xf32> is not known
gpu.module @dynamic {
  gpu.func @f(%x: memref<?xf32>) kernel {
    %0 = arith.constant 0 : index
    %1 = memref.load %x[%0] : memref<?xf32>
    gpu.return
  }
}
