// RUN: %xyntra-opt %s --split-scans --split-input-file | FileCheck %s

// Running sums of 64 columns have work for two blocks, of 32 columns by eight threads above one
// another. Cut into 8 parts of 128 rows, there is work for 16: the first loop adds up each part, the
// second one starts each part from the sums of those before it.
// CHECK-LABEL: func.func @in_memory(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<1024x64xf32>, [[Y:%[a-z0-9]+]]: memref<1024x64xf32>)
// CHECK: [[SUMS:%.+]] = memref.alloc() : memref<512xf32>
// CHECK: scf.for {{%.+}} = {{%.+}} to [[PARTS:%.+]] step
// CHECK: memref.load [[X]]
// CHECK-NOT: memref.store {{.+}}, [[Y]]
// CHECK: memref.store {{%.+}}, [[SUMS]]
// CHECK: } {xyntra.block = 256 : i64, xyntra.parallel}
// CHECK: scf.for {{%.+}} = {{%.+}} to [[PARTS2:%.+]] step
// CHECK: memref.load [[SUMS]]
// CHECK: memref.load [[X]]
// CHECK: memref.store {{%.+}}, [[Y]]
// CHECK: } {xyntra.block = 256 : i64, xyntra.parallel}
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
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<3000x8xi32>, [[Y:%[a-z0-9]+]]: memref<3000x8xi32>)
// CHECK: [[PARTIAL:%.+]] = memref.alloc() : memref<{{[0-9]+}}xi32>
// CHECK: scf.for
// CHECK: arith.maxsi
// CHECK: memref.store {{%.+}}, [[PARTIAL]]
// CHECK: } {xyntra.block = 256 : i64, xyntra.parallel}
// CHECK: scf.for
// CHECK: memref.load [[PARTIAL]]
// CHECK: memref.store {{%.+}}, [[Y]]
// CHECK: } {xyntra.block = 256 : i64, xyntra.parallel}
// CHECK-NEXT: return
func.func @in_register(%x: memref<3000x8xi32>, %y: memref<3000x8xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 3000 : index
  %columns = arith.constant 8 : index
  %least = arith.constant -2147483648 : i32
  scf.for %j = %c0 to %columns step %c1 {
    %last = scf.for %i = %c0 to %rows step %c1 iter_args(%max = %least) -> (i32) {
      %p = memref.load %x[%i, %j] : memref<3000x8xi32>
      %next = arith.maxsi %max, %p : i32
      memref.store %next, %y[%i, %j] : memref<3000x8xi32>
      scf.yield %next : i32
    }
  } {xyntra.block = 256 : i64, xyntra.parallel}
  return
}

// -----

// Columns of 127 rows are over before a second launch has started.
// CHECK-LABEL: func.func @short_columns(
// CHECK-NOT: memref<{{[0-9]+}}xf32>
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK: } {xyntra.block = 256 : i64, xyntra.parallel}
// CHECK-NEXT: return
func.func @short_columns(%x: memref<127x64xf32>, %y: memref<127x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 127 : index
  %columns = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %rows step %c1 {
    scf.for %j = %c0 to %columns step %c1 {
      %first = arith.cmpi eq, %i, %c0 : index
      %above = arith.subi %i, %c1 : index
      %from = arith.select %first, %i, %above : index
      %p = memref.load %x[%i, %j] : memref<127x64xf32>
      %sum = memref.load %y[%from, %j] : memref<127x64xf32>
      %start = arith.select %first, %zero, %sum : f32
      %next = arith.addf %start, %p : f32
      memref.store %next, %y[%i, %j] : memref<127x64xf32>
    } {xyntra.parallel}
  }
  return
}

// -----

// With 131072 columns there is a block for every 32 of them, which goes from tile to tile.
// CHECK-LABEL: func.func @many_columns(
// CHECK-NOT: memref<{{[0-9]+}}xf32>
// CHECK: scf.for {{%.+}} to %c4096
// CHECK: scf.for {{%.+}} to %c1024{{.*}} step %c128 iter_args
// CHECK: } {xyntra.block = 256 : i64, xyntra.parallel}
// CHECK-NEXT: return
func.func @many_columns(%x: memref<1024x131072xf32>, %y: memref<1024x131072xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 1024 : index
  %columns = arith.constant 131072 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %rows step %c1 {
    scf.for %j = %c0 to %columns step %c1 {
      %first = arith.cmpi eq, %i, %c0 : index
      %above = arith.subi %i, %c1 : index
      %from = arith.select %first, %i, %above : index
      %p = memref.load %x[%i, %j] : memref<1024x131072xf32>
      %sum = memref.load %y[%from, %j] : memref<1024x131072xf32>
      %start = arith.select %first, %zero, %sum : f32
      %next = arith.addf %start, %p : f32
      memref.store %next, %y[%i, %j] : memref<1024x131072xf32>
    } {xyntra.parallel}
  }
  return
}
