// RUN: %xyntra-opt %s --split-buffers=limit=256 | FileCheck %s

// Buffers are bound in parts of 256 bytes at most, and every access chooses one.
// CHECK: func.func @host([[A:%.+]]: memref<150xf32>, [[B:%.+]]: memref<20xvector<4xf32>>, [[Y:%.+]]: memref<4xf32>)
// CHECK-DAG: [[A0:%.+]] = builtin.unrealized_conversion_cast [[A]] : memref<150xf32> to memref<64xf32> {xyntra.window = 0 : i64}
// CHECK-DAG: [[A1:%.+]] = builtin.unrealized_conversion_cast [[A]] : memref<150xf32> to memref<64xf32> {xyntra.window = 256 : i64}
// CHECK-DAG: [[A2:%.+]] = builtin.unrealized_conversion_cast [[A]] : memref<150xf32> to memref<22xf32> {xyntra.window = 512 : i64}
// CHECK-DAG: [[B1:%.+]] = builtin.unrealized_conversion_cast [[B]] : memref<20xvector<4xf32>> to memref<4xvector<4xf32>> {xyntra.window = 256 : i64}
// CHECK: args([[Y]] : memref<4xf32>, [[A0]] : memref<64xf32>, [[A1]] : memref<64xf32>, [[A2]] : memref<22xf32>, {{%.+}} : memref<16xvector<4xf32>>, [[B1]] : memref<4xvector<4xf32>>)
module attributes {gpu.container_module} {
  func.func @host(%a: memref<150xf32>, %b: memref<20xvector<4xf32>>, %y: memref<4xf32>) {
    %1 = arith.constant 1 : index
    gpu.launch_func @device::@f blocks in (%1, %1, %1) threads in (%1, %1, %1) args(%a : memref<150xf32>, %b : memref<20xvector<4xf32>>, %y : memref<4xf32>)
    return
  }
  gpu.module @device {
    // CHECK: gpu.func @f({{%.+}}: memref<4xf32>, [[A0:%[a-z0-9]+]]: memref<64xf32>, [[A1:%[a-z0-9]+]]: memref<64xf32>, [[A2:%[a-z0-9]+]]: memref<22xf32>,
    // CHECK: [[T:%.+]] = gpu.thread_id x
    // CHECK: [[IN0:%.+]] = arith.cmpi ult, [[T]], %c64
    // CHECK: [[X:%.+]] = scf.if [[IN0]] -> (f32)
    // CHECK: memref.load [[A0]]{{\[}}[[T]]]
    // CHECK: [[T1:%.+]] = arith.subi [[T]], %c64
    // CHECK: [[IN1:%.+]] = arith.cmpi ult, [[T1]]
    // CHECK: scf.if [[IN1]] -> (f32)
    // CHECK: memref.load [[A1]]{{\[}}[[T1]]]
    // CHECK: [[T2:%.+]] = arith.subi [[T1]]
    // CHECK: memref.load [[A2]]{{\[}}[[T2]]]
    // CHECK: scf.if {{.+}} -> (vector<4xf32>)
    gpu.func @f(%a: memref<150xf32>, %b: memref<20xvector<4xf32>>, %y: memref<4xf32>) kernel {
      %t = gpu.thread_id x
      %0 = memref.load %a[%t] : memref<150xf32>
      %1 = memref.load %b[%t] : memref<20xvector<4xf32>>
      %2 = vector.extract %1[0] : f32 from vector<4xf32>
      %3 = arith.addf %0, %2 : f32
      memref.store %3, %y[%t] : memref<4xf32>
      // CHECK: scf.if {{.+}} {
      // CHECK: memref.store {{%.+}}, [[A0]]
      memref.store %3, %a[%t] : memref<150xf32>
      gpu.return
    }
  }
}
