// RUN: %xyntra-opt %s --narrow-floats | FileCheck %s

// A bf16 is the upper half of an f32.
// CHECK-LABEL: func.func @widen(
// CHECK-SAME: [[X:%.+]]: bf16)
// CHECK: [[HALF:%.+]] = arith.bitcast [[X]] : bf16 to i16
// CHECK: [[WIDE:%.+]] = arith.extui [[HALF]] : i16 to i32
// CHECK: [[BITS:%.+]] = arith.shli [[WIDE]], {{%.+}} : i32
// CHECK: [[SINGLE:%.+]] = arith.bitcast [[BITS]] : i32 to f32
// CHECK: [[DOUBLE:%.+]] = arith.extf [[SINGLE]] : f32 to f64
// CHECK-NEXT: return [[DOUBLE]]
func.func @widen(%x: bf16) -> f64 {
  %0 = arith.extf %x : bf16 to f64
  return %0 : f64
}

// NaN takes its own way past the rounding.
// CHECK-LABEL: func.func @narrow(
// CHECK-SAME: [[X:%.+]]: f32)
// CHECK: [[NAN:%.+]] = arith.cmpf {{une|uno}}, [[X]], [[X]] : f32
// CHECK: [[ROUNDED:%.+]] = arith.select [[NAN]], {{%.+}}, {{%.+}} : i32
// CHECK: [[UPPER:%.+]] = arith.shrui [[ROUNDED]], {{%.+}} : i32
// CHECK: [[HALF:%.+]] = arith.trunci [[UPPER]] : i32 to i16
// CHECK: [[RESULT:%.+]] = arith.bitcast [[HALF]] : i16 to bf16
// CHECK-NEXT: return [[RESULT]]
func.func @narrow(%x: f32) -> bf16 {
  %0 = arith.truncf %x : f32 to bf16
  return %0 : bf16
}

// The first rounding is to odd, so that the second one is the only one that counts.
// CHECK-LABEL: func.func @twice(
// CHECK-SAME: [[X:%.+]]: f64)
// CHECK: [[SINGLE:%.+]] = arith.truncf [[X]] : f64 to f32
// CHECK: [[BACK:%.+]] = arith.extf [[SINGLE]] : f32 to f64
// CHECK: arith.cmpf {{.+}}, [[BACK]], [[X]] : f64
// CHECK: [[ODD:%.+]] = arith.select {{%.+}}, {{%.+}}, [[SINGLE]] : f32
// CHECK: [[RESULT:%.+]] = arith.truncf [[ODD]] : f32 to f16
// CHECK-NEXT: return [[RESULT]]
func.func @twice(%x: f64) -> f16 {
  %0 = arith.truncf %x : f64 to f16
  return %0 : f16
}
