// RUN: %xyntra-opt %s --library-functions --split-input-file | FileCheck %s

// Each function is declared once.
// CHECK-COUNT-1: func.func private @expm1f(f32) -> f32 attributes {llvm.readnone}
// CHECK-NOT: private
// CHECK-LABEL: func.func @single(
// CHECK-SAME: [[X:%.+]]: f32)
// CHECK-NEXT: [[A:%.+]] = call @expm1f([[X]]) : (f32) -> f32
// CHECK-NEXT: [[B:%.+]] = call @expm1f([[A]]) : (f32) -> f32
// CHECK-NEXT: return [[B]]
func.func @single(%x: f32) -> f32 {
  %0 = math.expm1 %x : f32
  %1 = math.expm1 %0 : f32
  return %1 : f32
}

// -----

// CHECK: func.func private @log1p(f64) -> f64
// CHECK-LABEL: func.func @double(
// CHECK: call @log1p({{%.+}}) : (f64) -> f64
func.func @double(%x: f64) -> f64 {
  %0 = math.log1p %x : f64
  return %0 : f64
}

// -----

// A declaration that is there already is used.
// CHECK: func.func private @log1pf(f32) -> f32
// CHECK-NOT: private
// CHECK: call @log1pf({{%.+}}) : (f32) -> f32
func.func private @log1pf(f32) -> f32
func.func @declared(%x: f32) -> f32 {
  %0 = math.log1p %x : f32
  return %0 : f32
}
