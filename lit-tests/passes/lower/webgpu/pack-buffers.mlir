// RUN: %xyntra-opt %s --pack-buffers=limit=2 | FileCheck %s

// CHECK: func.func @host([[A:%.+]]: memref<4xf32>, [[B:%.+]]: memref<8xi32>, [[C:%.+]]: memref<9xf32>, [[Y:%.+]]: memref<4xf32>)
// CHECK: [[ALL:%.+]] = builtin.unrealized_conversion_cast [[A]], [[B]], [[C]]
// CHECK-SAME: to memref<21xi32> {xyntra.offsets = array<i64: 0, 4, 12>}
// CHECK: args([[Y]] : memref<4xf32>, [[ALL]] : memref<21xi32>)
// CHECK: gpu.func @sum([[R:%.+]]: memref<4xf32>, [[W:%.+]]: memref<21xi32>)
// CHECK: memref.load [[W]]
// CHECK: arith.bitcast %{{.*}} : i32 to f32
// CHECK: arith.addi %{{.*}}, %c4
// CHECK: memref.load [[W]]
// CHECK: memref.store %{{.*}}, [[R]]
module attributes {gpu.container_module} {
  func.func @host(%a: memref<4xf32>, %b: memref<8xi32>, %c: memref<9xf32>, %y: memref<4xf32>) {
    %1 = arith.constant 1 : index
    gpu.launch_func @device::@sum blocks in (%1, %1, %1) threads in (%1, %1, %1) args(%a : memref<4xf32>, %b : memref<8xi32>, %c : memref<9xf32>, %y : memref<4xf32>)
    return
  }
  gpu.module @device {
    gpu.func @sum(%a: memref<4xf32>, %b: memref<8xi32>, %c: memref<9xf32>, %y: memref<4xf32>) kernel {
      %t = gpu.thread_id x
      %0 = memref.load %a[%t] : memref<4xf32>
      %1 = memref.load %b[%t] : memref<8xi32>
      %2 = arith.sitofp %1 : i32 to f32
      %3 = memref.load %c[%t] : memref<9xf32>
      %4 = arith.addf %0, %2 : f32
      %5 = arith.addf %4, %3 : f32
      memref.store %5, %y[%t] : memref<4xf32>
      gpu.return
    }
  }
}
