// RUN: %xyntra-opt %s --signed-integers | FileCheck %s

// CHECK: spirv.func @f
// CHECK: [[A:%.+]] = spirv.Bitcast %{{.*}} : i32 to si32
// CHECK: [[B:%.+]] = spirv.Bitcast %{{.*}} : i32 to si32
// CHECK: [[Q:%.+]] = spirv.SDiv [[A]], [[B]] : si32
// CHECK: spirv.Bitcast [[Q]] : si32 to i32
// The amount of a shift has no sign.
// CHECK: spirv.ShiftRightArithmetic %{{.*}}, %{{.*}} : si32, i32
// CHECK: spirv.SLessThan %{{.*}} : si32
// CHECK: spirv.ConvertSToF %{{.*}} : si32 to f32
// CHECK: [[I:%.+]] = spirv.ConvertFToS %{{.*}} : f32 to si32
// CHECK: spirv.Bitcast [[I]] : si32 to i32
spirv.module Logical GLSL450 {
  spirv.func @f(%x: i32, %y: i32) -> i32 "None" {
    %0 = spirv.SDiv %x, %y : i32
    %1 = spirv.ShiftRightArithmetic %0, %y : i32, i32
    %2 = spirv.SLessThan %1, %x : i32
    %3 = spirv.Select %2, %1, %x : i1, i32
    %4 = spirv.ConvertSToF %3 : i32 to f32
    %5 = spirv.ConvertFToS %4 : f32 to i32
    spirv.ReturnValue %5 : i32
  }
}
