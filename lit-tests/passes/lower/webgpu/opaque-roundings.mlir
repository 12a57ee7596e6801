// RUN: %xyntra-opt %s --opaque-roundings | FileCheck %s

// CHECK: [[Z:%.+]] = gpu.block_id z
// CHECK: [[ZERO:%.+]] = arith.index_castui [[Z]] : index to i32
// CHECK: [[SHIFTED:%.+]] = math.fma
// CHECK: [[BITS:%.+]] = arith.bitcast [[SHIFTED]] : f32 to i32
// CHECK: [[SAME:%.+]] = arith.xori [[BITS]], [[ZERO]] : i32
// CHECK: [[HIDDEN:%.+]] = arith.bitcast [[SAME]] : i32 to f32
// CHECK: arith.subf [[HIDDEN]], %{{.*}} : f32
// CHECK: arith.xori
// CHECK: math.fma %{{.*}}
// CHECK: [[SUM:%.+]] = arith.addf
// CHECK: arith.bitcast [[SUM]] : f32 to i32
gpu.module @device {
  gpu.func @f(%x: memref<4xf32>) kernel {
    %0 = arith.constant 0 : index
    %m = arith.constant 12582912.0 : f32
    %a = memref.load %x[%0] : memref<4xf32>
    %s = math.fma %a, %a, %m : f32
    %r = arith.subf %s, %m : f32
    %c = math.fma %r, %m, %a : f32
    %d = math.fma %r, %a, %c : f32
    %t = arith.addf %d, %r : f32
    %u = arith.subf %t, %d : f32
    memref.store %u, %x[%0] : memref<4xf32>
    gpu.return
  }
}
