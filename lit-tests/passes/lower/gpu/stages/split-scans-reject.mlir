// RUN: %xyntra-opt %s --split-scans --split-input-file | FileCheck %s

// A difference is not associative: parts of it cannot be put together.
// CHECK-LABEL: func.func @differences(
// CHECK-NOT: memref.alloc
// CHECK: scf.for
// CHECK: memref.store
// CHECK-NOT: memref.store
// CHECK: return
func.func @differences(%x: memref<1024x64xf32>, %y: memref<1024x64xf32>) {
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
      %next = arith.subf %start, %p : f32
      memref.store %next, %y[%i, %j] : memref<1024x64xf32>
    } {xyntra.parallel}
  }
  return
}

// -----

// Elements that an iteration before has written are not there when parts begin.
// CHECK-LABEL: func.func @own_results(
// CHECK-NOT: memref.alloc
// CHECK: scf.for
// CHECK: memref.store
// CHECK-NOT: memref.store
// CHECK: return
func.func @own_results(%x: memref<1024x64xf32>, %y: memref<1024x64xf32>) {
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
      %p = memref.load %y[%i, %j] : memref<1024x64xf32>
      %sum = memref.load %y[%from, %j] : memref<1024x64xf32>
      %start = arith.select %first, %zero, %sum : f32
      %next = arith.addf %start, %p : f32
      memref.store %next, %y[%i, %j] : memref<1024x64xf32>
    } {xyntra.parallel}
  }
  return
}

// -----

// There are no columns side by side: a block scans the vector, in another way.
// CHECK-LABEL: func.func @along_rows(
// CHECK-NOT: memref.alloc
// CHECK: scf.for
// CHECK: memref.store
// CHECK-NOT: memref.store
// CHECK: return
func.func @along_rows(%x: memref<4096xf32>, %y: memref<4096xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %length = arith.constant 4096 : index
  %zero = arith.constant 0.0 : f32
  %last = scf.for %i = %c0 to %length step %c1 iter_args(%sum = %zero) -> (f32) {
    %p = memref.load %x[%i] : memref<4096xf32>
    %next = arith.addf %sum, %p : f32
    memref.store %next, %y[%i] : memref<4096xf32>
    scf.yield %next : f32
  }
  return
}
