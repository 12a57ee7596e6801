// RUN: %xyntra-opt %s --parallel-loops --split-input-file --verify-diagnostics | FileCheck %s

// Too little work.
// CHECK-LABEL: func.func @short(
// CHECK-NOT: call
// CHECK: return
func.func @short(%x: memref<1024xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1024 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<1024xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%i] : memref<1024xf32>
  } {xyntra.parallel}
  return
}

// -----

// Nobody says that the iterations are independent.
// CHECK-LABEL: func.func @unmarked(
// CHECK-NOT: call
// CHECK: return
func.func @unmarked(%x: memref<1048576xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1048576 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<1048576xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%i] : memref<1048576xf32>
  }
  return
}

// -----

// A loop that hands a value on is no loop of independent iterations, whatever its mark says.
// CHECK-LABEL: func.func @sum(
// CHECK-NOT: call
// CHECK: return
func.func @sum(%x: memref<1048576xf32>, %y: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1048576 : index
  %z = arith.constant 0.0 : f32
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%t = %z) -> (f32) {
    %a = memref.load %x[%i] : memref<1048576xf32>
    %b = arith.addf %a, %t : f32
    scf.yield %b : f32
  } {xyntra.parallel}
  memref.store %s, %y[] : memref<f32>
  return
}

// -----

// A vector from outside does not fit the word that an argument has.
// CHECK-LABEL: func.func @vector(
// CHECK-NOT: call
// CHECK: return
func.func @vector(%x: memref<1048576xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = arith.constant 131072 : index
  %v = vector.load %y[%c0] : memref<8xf32>, vector<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    %at = arith.muli %i, %c8 : index
    %a = vector.load %x[%at] : memref<1048576xf32>, vector<8xf32>
    %b = arith.addf %a, %v : vector<8xf32>
    vector.store %b, %x[%at] : memref<1048576xf32>, vector<8xf32>
  } {xyntra.parallel}
  return
}

// -----

// A buffer that is used before the loop stays where it is.
// CHECK-LABEL: func.func @shared_buffer(
// CHECK: [[B:%.+]] = memref.alloc
// CHECK: memref.copy
// CHECK: call @shared_buffer.parallel0({{.*}}[[B]]
// CHECK-LABEL: func.func private @shared_buffer.parallel0(
// CHECK-NOT: memref.alloc
// CHECK: return
func.func @shared_buffer(%x: memref<1048576xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1048576 : index
  %b = memref.alloc() : memref<1048576xf32>
  memref.copy %x, %b : memref<1048576xf32> to memref<1048576xf32>
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %b[%i] : memref<1048576xf32>
    %c = arith.addf %a, %a : f32
    memref.store %c, %x[%i] : memref<1048576xf32>
  } {xyntra.parallel}
  return
}

// -----

// expected-error @unknown {{a kernel on buffers returns nothing, but writes its results into arguments}}
func.func @returns() -> memref<4xf32> {
  %0 = memref.alloc() : memref<4xf32>
  return %0 : memref<4xf32>
}

// -----

func.func @negative(%x: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  // expected-error @below {{loops = -1, grain = 0: below 0}}
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<64xf32>
    memref.store %a, %x[%i] : memref<64xf32>
  } {xyntra.parallel, xyntra.schedule = #xyntra.schedule<{emitter = "parallel-loops", loops = -1}>}
  return
}

// -----

func.func @another(%x: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  // expected-error @below {{register-tiles makes no code of a loop}}
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<64xf32>
    memref.store %a, %x[%i] : memref<64xf32>
  } {xyntra.parallel, xyntra.schedule = #xyntra.schedule<{emitter = "register-tiles", loops = 1}>}
  return
}
