// RUN: %xyntra-opt %s --fold-grid=limit=10 | FileCheck %s

// CHECK: gpu.launch_func @device::@many blocks in (%c9{{[_0-9]*}}, %c3{{[_0-9]*}}, %c1
// CHECK: gpu.launch_func @device::@few blocks in (%c10{{[_0-9]*}}, %c1
// CHECK: gpu.func @many
// CHECK: gpu.block_id x
// CHECK: gpu.block_id y
// CHECK: [[B:%.+]] = arith.addi
// CHECK: [[IS:%.+]] = arith.cmpi ult, [[B]], %c25
// CHECK: scf.if [[IS]] {
// CHECK: memref.store %{{.*}}[[B]]
// CHECK: gpu.func @few
// CHECK-NOT: gpu.block_id y
module attributes {gpu.container_module} {
  func.func @host(%x: memref<25xindex>) {
    %1 = arith.constant 1 : index
    %10 = arith.constant 10 : index
    %25 = arith.constant 25 : index
    gpu.launch_func @device::@many blocks in (%25, %1, %1) threads in (%1, %1, %1) args(%x : memref<25xindex>)
    gpu.launch_func @device::@few blocks in (%10, %1, %1) threads in (%1, %1, %1) args(%x : memref<25xindex>)
    return
  }
  gpu.module @device {
    gpu.func @many(%x: memref<25xindex>) kernel {
      %b = gpu.block_id x
      memref.store %b, %x[%b] : memref<25xindex>
      gpu.return
    }
    gpu.func @few(%x: memref<25xindex>) kernel {
      %b = gpu.block_id x
      memref.store %b, %x[%b] : memref<25xindex>
      gpu.return
    }
  }
}
