// RUN: %xyntra-opt %s --exact-residuals | FileCheck %s

// Accumulation, polynomials, constants that are taken off, and types that are computed as f32, stay
// as they are.
// CHECK-NOT: arith.andi
// CHECK-NOT: arith.select
gpu.module @device {
  gpu.func @f(%x: memref<4xf32>, %y: memref<4xf16>) kernel {
    %0 = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    %a = memref.load %x[%0] : memref<4xf32>
    %s = math.fma %a, %a, %one : f32
    %k = arith.constant -1.5703125 : f32
    %r = math.fma %a, %k, %s : f32
    %t = math.fma %s, %a, %r : f32
    memref.store %t, %x[%0] : memref<4xf32>
    %h = memref.load %y[%0] : memref<4xf16>
    %n = arith.negf %h : f16
    %g = math.fma %h, %h, %n : f16
    memref.store %g, %y[%0] : memref<4xf16>
    gpu.return
  }
}
