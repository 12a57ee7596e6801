// RUN: %xyntra-opt %s --defined-arithmetic | FileCheck %s
// RUN: %xyntra-opt %s --defined-arithmetic=of=indices | FileCheck %s --check-prefix=INDICES

// Division by 0 gives 0, division by -1 the negation.
// CHECK-LABEL: func.func @quotient(
// CHECK-SAME: [[X:%.+]]: i32, [[Y:%.+]]: i32)
// CHECK: [[MINUS:%.+]] = arith.cmpi eq, [[Y]], {{%.+}} : i32
// CHECK: [[SAFE:%.+]] = arith.select [[MINUS]], {{%.+}}, [[Y]] : i32
// CHECK: [[NEGATED:%.+]] = arith.subi {{%.+}}, [[X]] : i32
// CHECK: [[ZERO:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[BY_ZERO:%.+]] = arith.cmpi eq, [[SAFE]], [[ZERO]] : i32
// CHECK: [[DIVISOR:%.+]] = arith.select [[BY_ZERO]], {{%.+}}, [[SAFE]] : i32
// CHECK-NEXT: [[QUOTIENT:%.+]] = arith.divsi [[X]], [[DIVISOR]] : i32
// CHECK-NEXT: [[GUARDED:%.+]] = arith.select [[BY_ZERO]], [[ZERO]], [[QUOTIENT]] : i32
// CHECK-NEXT: [[RESULT:%.+]] = arith.select [[MINUS]], [[NEGATED]], [[GUARDED]] : i32
// CHECK-NEXT: return [[RESULT]]
func.func @quotient(%x: i32, %y: i32) -> i32 {
  %0 = arith.divsi %x, %y : i32
  return %0 : i32
}

// A shift by the width or more leaves nothing, or the sign.
// CHECK-LABEL: func.func @shifts(
// CHECK-SAME: [[X:%.+]]: i8, [[BY:%.+]]: i8)
// CHECK: [[WIDTH:%.+]] = arith.constant 8 : i8
// CHECK: [[FITS:%.+]] = arith.cmpi ult, [[BY]], [[WIDTH]] : i8
// CHECK: [[AMOUNT:%.+]] = arith.select [[FITS]], [[BY]], {{%.+}} : i8
// CHECK: [[SHIFTED:%.+]] = arith.shli [[X]], [[AMOUNT]] : i8
// CHECK: arith.select [[FITS]], [[SHIFTED]], {{%.+}} : i8
// CHECK: [[MOST:%.+]] = arith.constant 7 : i8
// CHECK: [[LESS:%.+]] = arith.minui [[BY]], [[MOST]] : i8
// CHECK: arith.shrsi [[X]], [[LESS]] : i8
func.func @shifts(%x: i8, %by: i8) -> (i8, i8) {
  %0 = arith.shli %x, %by : i8
  %1 = arith.shrsi %x, %by : i8
  return %0, %1 : i8, i8
}

// Only what is in range is converted, and the rest becomes the nearest integer.
// CHECK-LABEL: func.func @saturated(
// CHECK-SAME: [[X:%.+]]: f32)
// CHECK: [[OVER:%.+]] = arith.cmpf oge, [[X]], {{%.+}} : f32
// CHECK: [[UNDER:%.+]] = arith.cmpf olt, [[X]], {{%.+}} : f32
// CHECK: arith.cmpf oeq, [[X]], [[X]] : f32
// CHECK: [[SAFE:%.+]] = arith.select {{%.+}}, {{%.+}}, [[X]] : f32
// CHECK: [[CONVERTED:%.+]] = arith.fptosi [[SAFE]] : f32 to i8
// CHECK: [[HIGH:%.+]] = arith.constant 127 : i8
// CHECK: [[CLAMPED:%.+]] = arith.select [[OVER]], [[HIGH]], [[CONVERTED]] : i8
// CHECK: [[LOW:%.+]] = arith.constant -128 : i8
// CHECK: arith.select [[UNDER]], [[LOW]], [[CLAMPED]] : i8
func.func @saturated(%x: f32) -> i8 {
  %0 = arith.fptosi %x : f32 to i8
  return %0 : i8
}

// Indices are left alone, unless they are what is asked for.
// CHECK-LABEL: func.func @indices(
// CHECK-NEXT: arith.remsi
// CHECK-NEXT: arith.shli
// CHECK-NEXT: arith.floordivsi
// CHECK: arith.divsi
// INDICES-LABEL: func.func @indices(
// INDICES: arith.cmpi eq, %{{.+}}, %{{.+}} : index
// INDICES: arith.remsi
// INDICES: arith.cmpi ult
// INDICES: arith.shli
// INDICES: arith.index_castui %{{.+}} : i1 to index
// INDICES: arith.divsi %{{.+}}, %{{.+}} : i32
func.func @indices(%x: index, %y: index, %z: i32) -> (index, index, index, i32) {
  %0 = arith.remsi %x, %y : index
  %1 = arith.shli %x, %y : index
  %2 = arith.floordivsi %x, %y : index
  %3 = arith.divsi %z, %z : i32
  return %0, %1, %2, %3 : index, index, index, i32
}
