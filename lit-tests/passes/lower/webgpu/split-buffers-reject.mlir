// RUN: %xyntra-opt %s --split-buffers=limit=256 | FileCheck %s

// What fits into one binding is left as it is.
// CHECK: gpu.func @f(%{{.+}}: memref<64xf32>)
// CHECK-NOT: scf.if
gpu.module @device {
  gpu.func @f(%a: memref<64xf32>) kernel {
    %t = gpu.thread_id x
    %0 = memref.load %a[%t] : memref<64xf32>
    memref.store %0, %a[%t] : memref<64xf32>
    gpu.return
  }
}
