// RUN: %xyntra-opt %s --split-wide-integers --canonicalize | FileCheck %s

// CHECK: gpu.func @add(%{{.*}}: memref<16xi32>, %{{.*}}: memref<16xi32>)
// CHECK: [[T:%.+]] = gpu.thread_id x
// CHECK: [[LOW:%.+]] = arith.muli [[T]], %c2 : index
// CHECK: [[HIGH:%.+]] = arith.addi [[LOW]], %c1 : index
// CHECK: [[A:%.+]] = memref.load %{{.*}}{{\[}}[[LOW]]] : memref<16xi32>
// CHECK: [[B:%.+]] = memref.load %{{.*}}{{\[}}[[HIGH]]] : memref<16xi32>
// CHECK: [[SUM:%.+]] = arith.addi [[A]], %{{.*}} : i32
// CHECK: arith.cmpi ult, [[SUM]], %{{.*}} : i32
// CHECK-NOT: i64
// CHECK: gpu.return
// CHECK: gpu.func @quotient
// Both fit into a word, or are divided bit by bit.
// CHECK: scf.if
// CHECK: arith.divui %{{.*}} : i32
// CHECK: scf.for
// CHECK-NOT: i64
module {
  gpu.module @device {
    gpu.func @add(%x: memref<8xi64>, %y: memref<8xi64>) kernel {
      %t = gpu.thread_id x
      %0 = memref.load %x[%t] : memref<8xi64>
      %1 = arith.constant 4294967297 : i64
      %2 = arith.addi %0, %1 : i64
      memref.store %2, %y[%t] : memref<8xi64>
      gpu.return
    }
    gpu.func @quotient(%x: memref<8xi64>, %y: memref<8xf32>) kernel {
      %t = gpu.thread_id x
      %0 = memref.load %x[%t] : memref<8xi64>
      %i = arith.index_cast %t : index to i64
      %2 = arith.divui %0, %i : i64
      %3 = arith.cmpi slt, %2, %0 : i64
      %4 = arith.select %3, %2, %0 : i64
      %5 = arith.sitofp %4 : i64 to f32
      memref.store %5, %y[%t] : memref<8xf32>
      gpu.return
    }
  }
}
