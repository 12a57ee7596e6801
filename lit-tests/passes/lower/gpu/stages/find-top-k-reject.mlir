// RUN: %xyntra-opt %s --find-top-k --split-input-file | FileCheck %s
// RUN: not %xyntra-opt %s --find-top-k=device=sm_91 --split-input-file 2>&1 | FileCheck %s --check-prefix=DEVICE

// There is no such GPU.
// DEVICE: there is no GPU 'sm_91'
// A loop that does not say what it is for is as good as any other.
// CHECK-LABEL: func.func @says_nothing(
// CHECK-NOT: xyntra.block
// CHECK: scf.for
// CHECK: arith.cmpf ogt
// CHECK: } {xyntra.parallel}
// CHECK-NEXT: return
func.func @says_nothing(%x: memref<4x4096xf32>, %values: memref<4x1xf32>, %places: memref<4x1xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %length = arith.constant 4096 : index
  %none = arith.constant 0xFF800000 : f32
  scf.for %i = %c0 to %rows step %c1 {
    %best, %at = scf.for %j = %c0 to %length step %c1 iter_args(%b = %none, %a = %c0) -> (f32, index) {
      %p = memref.load %x[%i, %j] : memref<4x4096xf32>
      %is = arith.cmpf ogt, %p, %b : f32
      %b1 = arith.select %is, %p, %b : f32
      %a1 = arith.select %is, %j, %a : index
      scf.yield %b1, %a1 : f32, index
    }
    %place = arith.index_cast %at : index to i64
    memref.store %best, %values[%i, %c0] : memref<4x1xf32>
    memref.store %place, %places[%i, %c0] : memref<4x1xi64>
  } {xyntra.parallel}
  return
}

// -----

// As many short rows have a thread each.
// CHECK-LABEL: func.func @many_short_rows(
// CHECK-NOT: xyntra.block
// CHECK: } {{.*}}xyntra.best
// CHECK-NOT: xyntra.block
// CHECK: return
func.func @many_short_rows(%x: memref<8192x60xf32>, %values: memref<8192x1xf32>, %places: memref<8192x1xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 8192 : index
  %length = arith.constant 60 : index
  %none = arith.constant 0xFF800000 : f32
  scf.for %i = %c0 to %rows step %c1 {
    %best, %at = scf.for %j = %c0 to %length step %c1 iter_args(%b = %none, %a = %c0) -> (f32, index) {
      %p = memref.load %x[%i, %j] : memref<8192x60xf32>
      %is = arith.cmpf ogt, %p, %b : f32
      %b1 = arith.select %is, %p, %b : f32
      %a1 = arith.select %is, %j, %a : index
      scf.yield %b1, %a1 : f32, index
    }
    %place = arith.index_cast %at : index to i64
    memref.store %best, %values[%i, %c0] : memref<8192x1xf32>
    memref.store %place, %places[%i, %c0] : memref<8192x1xi64>
  } {xyntra.best = {axis = 1 : i64, dtype = "float32", largest = true}, xyntra.parallel}
  return
}

// -----

// Results in parts of other memory are not written by blocks.
// CHECK-LABEL: func.func @into_a_view(
// CHECK-NOT: xyntra.block
// CHECK: } {{.*}}xyntra.best
// CHECK-NOT: xyntra.block
// CHECK: return
func.func @into_a_view(%x: memref<4x4096xf32>, %both: memref<4x2xf32>, %places: memref<4x1xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %length = arith.constant 4096 : index
  %none = arith.constant 0xFF800000 : f32
  %part = memref.subview %both[0, 0] [4, 1] [1, 1] : memref<4x2xf32> to memref<4x1xf32, strided<[2, 1]>>
  scf.for %i = %c0 to %rows step %c1 {
    %best, %at = scf.for %j = %c0 to %length step %c1 iter_args(%b = %none, %a = %c0) -> (f32, index) {
      %p = memref.load %x[%i, %j] : memref<4x4096xf32>
      %is = arith.cmpf ogt, %p, %b : f32
      %b1 = arith.select %is, %p, %b : f32
      %a1 = arith.select %is, %j, %a : index
      scf.yield %b1, %a1 : f32, index
    }
    %place = arith.index_cast %at : index to i64
    memref.store %best, %part[%i, %c0] : memref<4x1xf32, strided<[2, 1]>>
    memref.store %place, %places[%i, %c0] : memref<4x1xi64>
  } {xyntra.best = {axis = 1 : i64, dtype = "float32", largest = true}, xyntra.parallel}
  return
}

// -----

// Values that come from somewhere else than the rows that are searched.
// CHECK-LABEL: func.func @two_sources(
// CHECK-NOT: xyntra.block
// CHECK: } {{.*}}xyntra.best
// CHECK-NOT: xyntra.block
// CHECK: return
func.func @two_sources(%x: memref<4x4096xf32>, %z: memref<4x4096xf32>, %values: memref<4x1xf32>, %places: memref<4x1xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %length = arith.constant 4096 : index
  %none = arith.constant 0xFF800000 : f32
  scf.for %i = %c0 to %rows step %c1 {
    %best, %at = scf.for %j = %c0 to %length step %c1 iter_args(%b = %none, %a = %c0) -> (f32, index) {
      %p = memref.load %x[%i, %j] : memref<4x4096xf32>
      %is = arith.cmpf ogt, %p, %b : f32
      %b1 = arith.select %is, %p, %b : f32
      %a1 = arith.select %is, %j, %a : index
      scf.yield %b1, %a1 : f32, index
    }
    %place = arith.index_cast %at : index to i64
    %value = memref.load %z[%i, %at] : memref<4x4096xf32>
    memref.store %value, %values[%i, %c0] : memref<4x1xf32>
    memref.store %place, %places[%i, %c0] : memref<4x1xi64>
  } {xyntra.best = {axis = 1 : i64, dtype = "float32", largest = true}, xyntra.parallel}
  return
}
