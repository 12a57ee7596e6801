// RUN: %xyntra-opt %s --shallow-expressions=depth=3 | FileCheck %s

// naga gives a name to what is used more than once.
// CHECK-NOT: spirv.Variable
spirv.module Logical GLSL450 {
  spirv.func @f(%x: f32) -> f32 "None" {
    %0 = spirv.FAdd %x, %x : f32
    %1 = spirv.FMul %0, %0 : f32
    %2 = spirv.FSub %1, %1 : f32
    %3 = spirv.FDiv %2, %2 : f32
    spirv.ReturnValue %3 : f32
  }
}
