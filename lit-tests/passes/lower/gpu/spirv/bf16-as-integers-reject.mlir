// RUN: %xyntra-opt %s --bf16-as-integers | FileCheck %s

// Memory of other types stays as it is.
gpu.module @device {
  // CHECK-LABEL: gpu.func @f16(
  // CHECK-SAME: [[X:%[a-z0-9]+]]: memref<64xf16>) kernel
  // CHECK: [[VALUE:%.+]] = memref.load [[X]][{{%.+}}] : memref<64xf16>
  // CHECK-NEXT: memref.store [[VALUE]], [[X]][{{%.+}}] : memref<64xf16>
  gpu.func @f16(%x: memref<64xf16>) kernel {
    %i = gpu.thread_id x
    %0 = memref.load %x[%i] : memref<64xf16>
    memref.store %0, %x[%i] : memref<64xf16>
    gpu.return
  }
}
