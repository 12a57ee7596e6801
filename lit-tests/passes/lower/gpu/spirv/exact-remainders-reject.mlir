// RUN: %xyntra-opt %s --exact-remainders | FileCheck %s

// Remainders of other types stay.
// CHECK: arith.remf %{{.*}} : f64
func.func @rest(%x: f64, %y: f64) -> f64 {
  %0 = arith.remf %x, %y : f64
  return %0 : f64
}
