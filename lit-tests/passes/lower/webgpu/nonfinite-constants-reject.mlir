// RUN: %xyntra-opt %s --nonfinite-constants | FileCheck %s

// Finite constants stay, the largest as well, and so do zeros that are added or stored.
// CHECK-NOT: gpu.block_id
// CHECK-DAG: [[LARGEST:%.+]] = arith.constant 3.40282347E+38 : f32
// CHECK-DAG: [[NONE:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK: arith.mulf %{{.*}}, [[LARGEST]] : f32
// CHECK: arith.addf %{{.*}}, [[NONE]] : f32
// CHECK: memref.store [[NONE]]
gpu.module @device {
  gpu.func @f(%x: memref<4xf32>) kernel {
    %0 = arith.constant 0 : index
    %l = arith.constant 0x7F7FFFFF : f32
    %n = arith.constant 0.0 : f32
    %a = memref.load %x[%0] : memref<4xf32>
    %p = arith.mulf %a, %l : f32
    %s = arith.addf %p, %n : f32
    memref.store %s, %x[%0] : memref<4xf32>
    memref.store %n, %x[%0] : memref<4xf32>
    gpu.return
  }
}
