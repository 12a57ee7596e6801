// RUN: %xyntra-opt %s --exact-residuals | FileCheck %s

// CHECK: [[A:%.+]] = memref.load
// CHECK: [[B:%.+]] = memref.load
// CHECK: [[P:%.+]] = math.fma [[A]], [[B]], %{{.*}} : f32
// CHECK: [[C:%.+]] = arith.negf [[P]]
// CHECK: [[OWN:%.+]] = math.fma [[A]], [[B]], [[C]] : f32
// CHECK: [[SMALL:%.+]] = arith.cmpi ult
// CHECK: [[UP:%.+]] = arith.select [[SMALL]]
// CHECK: [[DOWN:%.+]] = arith.select [[SMALL]]
// CHECK: [[RAISED:%.+]] = arith.mulf [[A]], [[UP]]
// CHECK: [[ADDEND:%.+]] = arith.mulf [[C]], [[UP]]
// CHECK: arith.bitcast [[RAISED]] : f32 to i32
// CHECK: arith.addi
// CHECK: arith.andi
// CHECK: [[HIGH:%.+]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK: arith.subf [[RAISED]], [[HIGH]]
// CHECK: [[PRODUCT:%.+]] = arith.mulf [[RAISED]], [[B]]
// CHECK: arith.subf %{{.*}}, [[PRODUCT]]
// CHECK: [[TOTAL:%.+]] = arith.addf [[PRODUCT]], [[ADDEND]]
// CHECK: [[SUM:%.+]] = arith.addf [[TOTAL]], %{{.*}}
// CHECK: [[EXACT:%.+]] = arith.mulf [[SUM]], [[DOWN]]
// CHECK: arith.cmpi ne
// CHECK: [[R:%.+]] = arith.select %{{.*}}, [[EXACT]], [[OWN]] : f32
// CHECK: memref.store [[R]]
// CHECK-COUNT-2: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK: arith.mulf
gpu.module @device {
  gpu.func @f(%x: memref<4xf32>, %y: memref<4xf32>) kernel {
    %0 = arith.constant 0 : index
    %z = arith.constant 0.0 : f32
    %a = memref.load %x[%0] : memref<4xf32>
    %b = memref.load %y[%0] : memref<4xf32>
    %p = math.fma %a, %b, %z : f32
    %n = arith.negf %p : f32
    %e = math.fma %a, %b, %n : f32
    memref.store %e, %x[%0] : memref<4xf32>
    %k = arith.constant -1.570796251296997 : f32
    %r = math.fma %a, %k, %b : f32
    memref.store %r, %x[%0] : memref<4xf32>
    gpu.return
  }
}
