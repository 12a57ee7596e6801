// RUN: %xyntra-opt %s --split-scans --split-input-file | FileCheck %s

// Running sums of 64 columns have work for two warps. Cut into 32 parts of 32 rows, there is work for
// 2048 threads: the first loop adds up each part, the second one starts each part from the sums of
// those before it.
// CHECK-LABEL: func.func @in_memory(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<1024x64xf32>, [[Y:%[a-z0-9]+]]: memref<1024x64xf32>)
// CHECK: [[SUMS:%.+]] = memref.alloc() : memref<2048xf32>
// CHECK: scf.for {{%.+}} = {{%.+}} to [[PARTS:%.+]] step
// CHECK: memref.load [[X]]
// CHECK-NOT: memref.store {{.+}}, [[Y]]
// CHECK: memref.store {{%.+}}, [[SUMS]]
// CHECK: } {xyntra.parallel}
// CHECK: scf.for {{%.+}} = {{%.+}} to [[PARTS2:%.+]] step
// CHECK: memref.load [[SUMS]]
// CHECK: memref.load [[X]]
// CHECK: memref.store {{%.+}}, [[Y]]
// CHECK: } {xyntra.parallel}
// CHECK-NEXT: return
func.func @in_memory(%x: memref<1024x64xf32>, %y: memref<1024x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 1024 : index
  %columns = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %rows step %c1 {
    scf.for %j = %c0 to %columns step %c1 {
      %first = arith.cmpi eq, %i, %c0 : index
      %above = arith.subi %i, %c1 : index
      %from = arith.select %first, %i, %above : index
      %p = memref.load %x[%i, %j] : memref<1024x64xf32>
      %sum = memref.load %y[%from, %j] : memref<1024x64xf32>
      %start = arith.select %first, %zero, %sum : f32
      %next = arith.addf %start, %p : f32
      memref.store %next, %y[%i, %j] : memref<1024x64xf32>
    } {xyntra.parallel}
  }
  return
}

// -----

// Likewise where iterations hand on a register. The maximum of i32 starts from the least one, also for
// the rows of the last part that do not exist.
// CHECK-LABEL: func.func @in_register(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<300x8xi32>, [[Y:%[a-z0-9]+]]: memref<300x8xi32>)
// CHECK: [[PARTIAL:%.+]] = memref.alloc() : memref<{{[0-9]+}}xi32>
// CHECK: scf.for
// CHECK: arith.maxsi
// CHECK: memref.store {{%.+}}, [[PARTIAL]]
// CHECK: } {xyntra.parallel}
// CHECK: scf.for
// CHECK: memref.load [[PARTIAL]]
// CHECK: memref.store {{%.+}}, [[Y]]
// CHECK: } {xyntra.parallel}
// CHECK-NEXT: return
func.func @in_register(%x: memref<300x8xi32>, %y: memref<300x8xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 300 : index
  %columns = arith.constant 8 : index
  %least = arith.constant -2147483648 : i32
  scf.for %j = %c0 to %columns step %c1 {
    %last = scf.for %i = %c0 to %rows step %c1 iter_args(%max = %least) -> (i32) {
      %p = memref.load %x[%i, %j] : memref<300x8xi32>
      %next = arith.maxsi %max, %p : i32
      memref.store %next, %y[%i, %j] : memref<300x8xi32>
      scf.yield %next : i32
    }
  } {xyntra.parallel}
  return
}
