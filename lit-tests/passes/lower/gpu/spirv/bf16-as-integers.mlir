// RUN: %xyntra-opt %s --bf16-as-integers | FileCheck %s

module attributes {gpu.container_module} {
  // CHECK-LABEL: func.func @host(
  // CHECK-SAME: [[X:%[a-z0-9]+]]: memref<64xbf16>)
  // CHECK: [[BITS:%.+]] = builtin.unrealized_conversion_cast [[X]] : memref<64xbf16> to memref<64xi16>
  // CHECK: gpu.launch_func @device::@twice
  // CHECK-SAME: args([[BITS]] : memref<64xi16>)
  func.func @host(%x: memref<64xbf16>) {
    %1 = arith.constant 1 : index
    gpu.launch_func @device::@twice blocks in (%1, %1, %1) threads in (%1, %1, %1) args(%x : memref<64xbf16>)
    return
  }
  gpu.module @device {
    // CHECK-LABEL: gpu.func @twice(
    // CHECK-SAME: [[X:%[a-z0-9]+]]: memref<64xi16>) kernel
    // CHECK: [[BITS:%.+]] = memref.load [[X]][{{%.+}}] : memref<64xi16>
    // CHECK: [[NUMBER:%.+]] = arith.bitcast [[BITS]] : i16 to bf16
    // CHECK: arith.extf [[NUMBER]] : bf16 to f32
    // CHECK: [[RESULT:%.+]] = arith.truncf {{%.+}} : f32 to bf16
    // CHECK: [[STORED:%.+]] = arith.bitcast [[RESULT]] : bf16 to i16
    // CHECK: memref.store [[STORED]], [[X]][{{%.+}}] : memref<64xi16>
    gpu.func @twice(%x: memref<64xbf16>) kernel {
      %i = gpu.thread_id x
      %0 = memref.load %x[%i] : memref<64xbf16>
      %1 = arith.extf %0 : bf16 to f32
      %2 = arith.addf %1, %1 : f32
      %3 = arith.truncf %2 : f32 to bf16
      memref.store %3, %x[%i] : memref<64xbf16>
      gpu.return
    }
  }
}
