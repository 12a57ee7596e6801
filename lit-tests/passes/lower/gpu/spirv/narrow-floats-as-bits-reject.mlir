// RUN: not %xyntra-opt %s --narrow-floats-as-bits 2>&1 | FileCheck %s

// CHECK: memref.atomic_rmw of numbers of 16 bits has no code in f32
gpu.module @device {
  gpu.func @f(%x: memref<64xf16>) kernel {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1.0 : f16
    %2 = memref.atomic_rmw addf %1, %x[%0] : (f16, memref<64xf16>) -> f16
    gpu.return
  }
}
