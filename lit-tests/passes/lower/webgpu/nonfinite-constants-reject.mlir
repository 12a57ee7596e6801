// RUN: %xyntra-opt %s --nonfinite-constants | FileCheck %s

// Finite constants stay, the largest as well.
// CHECK-NOT: spirv.Variable
// CHECK: spirv.Constant 3.40282347E+38 : f32
spirv.module Logical GLSL450 {
  spirv.func @f(%x: f32) -> f32 "None" {
    %0 = spirv.Constant 0x7F7FFFFF : f32
    %1 = spirv.FAdd %x, %0 : f32
    spirv.ReturnValue %1 : f32
  }
}
