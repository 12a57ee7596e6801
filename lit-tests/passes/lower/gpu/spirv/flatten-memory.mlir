// RUN: %xyntra-opt %s --flatten-memory | FileCheck %s

// CHECK-LABEL: func.func @host(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<8x16xf32>, [[Y:%[a-z0-9]+]]: memref<128xf32>)
// CHECK: [[FLAT:%.+]] = memref.reinterpret_cast [[X]] to offset: [0], sizes: [128], strides: [1]
// CHECK: gpu.launch_func @device::@views
// CHECK-SAME: args([[FLAT]] : memref<128xf32>, [[Y]] : memref<128xf32>)
module attributes {gpu.container_module} {
  func.func @host(%x: memref<8x16xf32>, %y: memref<128xf32>) {
    %1 = arith.constant 1 : index
    gpu.launch_func @device::@views blocks in (%1, %1, %1) threads in (%1, %1, %1) args(%x : memref<8x16xf32>, %y : memref<128xf32>)
    return
  }
  gpu.module @device {
    // CHECK-LABEL: gpu.func @views(
    // CHECK-SAME: [[X:%[a-z0-9]+]]: memref<128xf32>, [[Y:%[a-z0-9]+]]: memref<128xf32>)
    // CHECK-SAME: workgroup({{%.+}} : memref<16xf32
    // CHECK: [[I:%.+]] = gpu.thread_id x
    // CHECK: [[ROW:%.+]] = arith.muli [[I]], {{%.+}} : index
    // CHECK: [[PLACE:%.+]] = arith.addi [[ROW]], [[I]] : index
    // CHECK: [[A:%.+]] = memref.load [[X]]{{\[}}[[PLACE]]] : memref<128xf32>
    // CHECK: [[B:%.+]] = vector.load [[Y]]{{\[}}[[I]]] {alignment = 8 : i64} : memref<128xf32>, vector<2xf32>
    // CHECK: [[THREE:%.+]] = arith.constant 3 : index
    // CHECK: [[TWICE:%.+]] = arith.muli [[I]], {{%.+}} : index
    // CHECK: [[BEHIND:%.+]] = arith.addi [[THREE]], [[TWICE]] : index
    // CHECK: memref.store [[A]], [[Y]]{{\[}}[[BEHIND]]] : memref<128xf32>
    // CHECK: vector.store [[B]], [[X]]{{\[}}[[I]]] : memref<128xf32>, vector<2xf32>
    // CHECK-NOT: memref.reinterpret_cast
    gpu.func @views(%x: memref<8x16xf32>, %y: memref<128xf32>) workgroup(%s: memref<4x4xf32, #gpu.address_space<workgroup>>) kernel {
      %i = gpu.thread_id x
      %0 = memref.load %x[%i, %i] : memref<8x16xf32>
      %v = memref.reinterpret_cast %y to offset: [3], sizes: [10], strides: [2] : memref<128xf32> to memref<10xf32, strided<[2], offset: 3>>
      %1 = vector.load %y[%i] {alignment = 8 : i64} : memref<128xf32>, vector<2xf32>
      memref.store %0, %v[%i] : memref<10xf32, strided<[2], offset: 3>>
      %w = memref.collapse_shape %x [[0, 1]] : memref<8x16xf32> into memref<128xf32>
      vector.store %1, %w[%i] : memref<128xf32>, vector<2xf32>
      gpu.return
    }
  }
}
