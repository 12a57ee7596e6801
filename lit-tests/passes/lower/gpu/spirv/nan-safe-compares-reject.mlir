// RUN: %xyntra-opt %s --nan-safe-compares | FileCheck %s

// Numbers of other types are left as they are.
// CHECK-LABEL: @doubles
// CHECK-NEXT: arith.cmpf olt, %{{.*}} : f64
// CHECK-NEXT: return
func.func @doubles(%x: f64, %y: f64) -> i1 {
  %0 = arith.cmpf olt, %x, %y : f64
  return %0 : i1
}
