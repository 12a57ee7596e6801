// RUN: not %xyntra-opt %s --split-wide-integers --split-input-file 2>&1 | FileCheck %s

// CHECK: math.ctpop of 64-bit integers has no code in words of 32 bits
gpu.module @bits {
  gpu.func @f(%x: memref<64xi64>) kernel {
    %0 = arith.constant 0 : index
    %1 = memref.load %x[%0] : memref<64xi64>
    %2 = math.ctpop %1 : i64
    memref.store %2, %x[%0] : memref<64xi64>
    gpu.return
  }
}

// -----

// CHECK: arith.sitofp gives f64
gpu.module @doubles {
  gpu.func @f(%x: memref<64xi64>, %y: memref<64xf64>) kernel {
    %0 = arith.constant 0 : index
    %1 = memref.load %x[%0] : memref<64xi64>
    %2 = arith.sitofp %1 : i64 to f64
    memref.store %2, %y[%0] : memref<64xf64>
    gpu.return
  }
}
