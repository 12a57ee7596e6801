// RUN: %xyntra-opt %s --exact-remainders | FileCheck %s

// CHECK: [[FIRST:%.+]] = arith.remui
// CHECK: scf.for
// CHECK-SAME: iter_args(%{{.*}} = [[FIRST]]) -> (i32)
// CHECK: arith.shli
// CHECK: arith.subi
// CHECK: scf.yield
// CHECK: math.ctlz
// CHECK: arith.bitcast %{{.*}} : i32 to f32
// CHECK-NOT: arith.remf
func.func @rest(%x: f32, %y: f32) -> f32 {
  %0 = arith.remf %x, %y : f32
  return %0 : f32
}
