// RUN: %xyntra-opt %s --nonfinite-constants | FileCheck %s

// An infinity, and a zero that is a divisor, come from bits and a number that is zero.
// CHECK: gpu.func @f
// CHECK: [[Z:%.+]] = gpu.block_id z
// CHECK: [[ZERO:%.+]] = arith.index_castui [[Z]] : index to i32
// CHECK: [[NONE:%.+]] = arith.constant 0 : i32
// CHECK: [[SAME:%.+]] = arith.xori [[NONE]], [[ZERO]] : i32
// CHECK: [[DIVISOR:%.+]] = arith.bitcast [[SAME]] : i32 to f32
// CHECK: [[BITS:%.+]] = arith.constant -8388608 : i32
// CHECK: [[KNOWN:%.+]] = arith.xori [[BITS]], [[ZERO]] : i32
// CHECK: [[INFINITE:%.+]] = arith.bitcast [[KNOWN]] : i32 to f32
// CHECK: [[SUM:%.+]] = arith.addf %{{.*}}, [[INFINITE]] : f32
// CHECK: arith.divf [[SUM]], [[DIVISOR]] : f32
gpu.module @device {
  gpu.func @f(%x: memref<4xf32>) kernel {
    %0 = arith.constant 0 : index
    %i = arith.constant 0xFF800000 : f32
    %n = arith.constant 0.0 : f32
    %a = memref.load %x[%0] : memref<4xf32>
    %s = arith.addf %a, %i : f32
    %q = arith.divf %s, %n : f32
    memref.store %q, %x[%0] : memref<4xf32>
    gpu.return
  }
}
