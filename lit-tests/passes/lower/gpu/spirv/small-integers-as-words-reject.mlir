// RUN: not %xyntra-opt %s --small-integers-as-words 2>&1 | FileCheck %s

// CHECK: math.cttz of small integers has no code in words
gpu.module @device {
  gpu.func @f(%x: memref<64xi8>) kernel {
    %0 = arith.constant 0 : index
    %1 = memref.load %x[%0] : memref<64xi8>
    %2 = math.cttz %1 : i8
    memref.store %2, %x[%0] : memref<64xi8>
    gpu.return
  }
}
