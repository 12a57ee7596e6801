// RUN: %xyntra-opt %s --defined-arithmetic | FileCheck %s

// A constant that excludes the corner case needs no guard.
// CHECK-LABEL: func.func @constants(
// CHECK-SAME: [[X:%.+]]: i32)
// CHECK-NEXT: [[SEVEN:%.+]] = arith.constant 7 : i32
// CHECK-NEXT: arith.divsi [[X]], [[SEVEN]] : i32
// CHECK-NEXT: arith.remui {{%.+}}, [[SEVEN]] : i32
// CHECK-NEXT: arith.shli {{%.+}}, [[SEVEN]] : i32
// CHECK-NEXT: return
func.func @constants(%x: i32) -> i32 {
  %seven = arith.constant 7 : i32
  %0 = arith.divsi %x, %seven : i32
  %1 = arith.remui %0, %seven : i32
  %2 = arith.shli %1, %seven : i32
  return %2 : i32
}

// One that is the corner case does: an unsigned divisor may well be -1, a signed one may not.
// CHECK-LABEL: func.func @minus_one(
// CHECK-NEXT: arith.constant -1 : i32
// CHECK-NEXT: [[QUOTIENT:%.+]] = arith.divui
// CHECK: arith.cmpi eq
// CHECK: arith.divsi [[QUOTIENT]]
// CHECK-NEXT: arith.select
func.func @minus_one(%x: i32) -> i32 {
  %minus_one = arith.constant -1 : i32
  %0 = arith.divui %x, %minus_one : i32
  %1 = arith.divsi %0, %minus_one : i32
  return %1 : i32
}

// Indices are computed by the compiler, which does not divide by zero; vectors do not occur yet.
// CHECK-LABEL: func.func @other_types(
// CHECK-NEXT: arith.remui {{%.+}}, {{%.+}} : index
// CHECK-NEXT: arith.divsi {{%.+}}, {{%.+}} : vector<4xi32>
// CHECK-NEXT: return
func.func @other_types(%x: index, %y: index, %z: vector<4xi32>) -> (index, vector<4xi32>) {
  %0 = arith.remui %x, %y : index
  %1 = arith.divsi %z, %z : vector<4xi32>
  return %0, %1 : index, vector<4xi32>
}
