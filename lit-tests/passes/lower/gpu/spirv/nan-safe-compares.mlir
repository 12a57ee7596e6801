// RUN: %xyntra-opt %s --nan-safe-compares | FileCheck %s

// CHECK-LABEL: @less
// CHECK: arith.bitcast %{{.*}} : f32 to i32
// CHECK: arith.cmpi sgt, %{{.*}} : i32
// CHECK: [[NAN:%.+]] = arith.ori %{{.*}} : i1
// CHECK: [[NUMBERS:%.+]] = arith.xori [[NAN]], %{{.*}} : i1
// CHECK: [[LESS:%.+]] = arith.cmpf olt, %{{.*}} : f32
// CHECK: [[R:%.+]] = arith.andi [[LESS]], [[NUMBERS]] : i1
// CHECK: return [[R]]
func.func @less(%x: f32, %y: f32) -> i1 {
  %0 = arith.cmpf olt, %x, %y : f32
  return %0 : i1
}

// CHECK-LABEL: @not_above
// Constants are no NaN: one test is enough.
// CHECK: arith.bitcast %{{.*}} : f32 to i32
// CHECK-NOT: arith.bitcast
// CHECK: [[BELOW:%.+]] = arith.cmpf ole, %{{.*}} : f32
// CHECK: arith.ori [[BELOW]], %{{.*}} : i1
func.func @not_above(%x: f32) -> i1 {
  %c = arith.constant 1.0 : f32
  %0 = arith.cmpf ule, %x, %c : f32
  return %0 : i1
}

// CHECK-LABEL: @largest
// CHECK: arith.cmpf ogt, %{{.*}} : f32
// CHECK: arith.select %{{.*}} : f32
// CHECK: arith.select %{{.*}} : f32
// CHECK-NOT: maximumf
func.func @largest(%x: f32, %y: f32) -> f32 {
  %0 = arith.maximumf %x, %y : f32
  return %0 : f32
}

// CHECK-LABEL: @root
// The bits decide whether a root is NaN, so that its square is NaN, too.
// CHECK-DAG: [[ROOT:%.+]] = math.sqrt %{{.*}} fastmath<nnan> : f32
// CHECK-DAG: [[BELOW:%.+]] = arith.cmpi sgt, %{{.*}} : i32
// CHECK: arith.select [[BELOW]], %{{.*}}, [[ROOT]] : f32
func.func @root(%x: f32) -> f32 {
  %0 = math.sqrt %x : f32
  return %0 : f32
}

// CHECK-LABEL: @itself
// What is subtracted from, or divided by, itself gives a number only where it is finite.
// CHECK: [[FINITE:%.+]] = arith.cmpi slt, %{{.*}} : i32
// CHECK: [[ZERO:%.+]] = arith.select [[FINITE]], %{{.*}} : f32
// CHECK: arith.cmpi sgt, %{{.*}} : i32
// CHECK: [[ONE:%.+]] = arith.select %{{.*}} : f32
// CHECK: return [[ZERO]], [[ONE]]
func.func @itself(%x: f32) -> (f32, f32) {
  %0 = arith.subf %x, %x : f32
  %1 = arith.divf %x, %x : f32
  return %0, %1 : f32, f32
}
