// RUN: %xyntra-opt %s --vector-scans | FileCheck %s --implicit-check-not=vector.

#attributes = #xyntra.kernel<{kind = "generic"}>

// In another order, a product may overflow on the way.
// CHECK-LABEL: func.func private @product(
// CHECK: arith.mulf
func.func private @product(%x: memref<64xf32>, %y: memref<64xf32>) attributes {xyntra.inputs = 1 : i64, xyntra.kernel = #attributes} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1.0 : f32
  %all = scf.for %j = %c0 to %c64 step %c1 iter_args(%s = %one) -> (f32) {
    %e = memref.load %x[%j] : memref<64xf32>
    %t = arith.mulf %s, %e : f32
    memref.store %t, %y[%j] : memref<64xf32>
    scf.yield %t : f32
  }
  return
}

// Elements of a column are apart.
// CHECK-LABEL: func.func private @column(
// CHECK: arith.addf
func.func private @column(%x: memref<64x3xf32>, %y: memref<64x3xf32>) attributes {xyntra.inputs = 1 : i64, xyntra.kernel = #attributes} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c3 step %c1 {
    %sum = scf.for %j = %c0 to %c64 step %c1 iter_args(%s = %zero) -> (f32) {
      %e = memref.load %x[%j, %i] : memref<64x3xf32>
      %t = arith.addf %s, %e : f32
      memref.store %t, %y[%j, %i] : memref<64x3xf32>
      scf.yield %t : f32
    }
  }
  return
}

// The number of an iteration is no vector.
// CHECK-LABEL: func.func private @numbers(
// CHECK: arith.addi
func.func private @numbers(%x: memref<64xi64>, %y: memref<64xi64>) attributes {xyntra.inputs = 1 : i64, xyntra.kernel = #attributes} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i64
  %sum = scf.for %j = %c0 to %c64 step %c1 iter_args(%s = %zero) -> (i64) {
    %e = memref.load %x[%j] : memref<64xi64>
    %n = arith.index_cast %j : index to i64
    %f = arith.muli %e, %n : i64
    %t = arith.addi %s, %f : i64
    memref.store %t, %y[%j] : memref<64xi64>
    scf.yield %t : i64
  }
  return
}
