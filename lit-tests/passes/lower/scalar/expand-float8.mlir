// RUN: %xyntra-opt %s --expand-float8 | FileCheck %s

// A float8 is its bits from the start; those that are too small for its normal numbers count steps.
// CHECK-LABEL: func.func @widen(
// CHECK-SAME: %[[X:.+]]: i8)
// CHECK-NOT: f8E4M3FN
// CHECK: arith.extui %[[X]] : i8 to i32
// CHECK: arith.uitofp
// CHECK: arith.select
// CHECK: %[[HALF:.+]] = arith.truncf %{{.+}} : f32 to f16
// CHECK-NEXT: return %[[HALF]]
func.func @widen(%x: i8) -> f16 {
  %0 = arith.bitcast %x : i8 to f8E4M3FN
  %1 = arith.extf %0 : f8E4M3FN to f16
  return %1 : f16
}

// CHECK-LABEL: func.func @narrow(
// CHECK-SAME: %[[X:.+]]: f64)
// CHECK: arith.bitcast %[[X]] : f64 to i64
// CHECK: %[[BITS:.+]] = arith.trunci %{{.+}} : i64 to i8
// CHECK-NEXT: return %[[BITS]] : i8
func.func @narrow(%x: f64) -> i8 {
  %0 = arith.truncf %x : f64 to f8E5M2
  %1 = arith.bitcast %0 : f8E5M2 to i8
  return %1 : i8
}

// What is no byte afterwards keeps its type.
// CHECK-LABEL: func.func @keeps_type(
// CHECK: %[[KEPT:.+]] = arith.bitcast %{{.+}} : i8 to f8E5M2
// CHECK-NEXT: return %[[KEPT]]
func.func @keeps_type(%x: f32) -> f8E5M2 {
  %0 = arith.truncf %x : f32 to f8E5M2
  return %0 : f8E5M2
}
