// RUN: %xyntra-opt %s --shallow-expressions=depth=3 | FileCheck %s

// CHECK: [[V:%.+]] = spirv.Variable : !spirv.ptr<f32, Function>
// CHECK: [[A:%.+]] = spirv.FAdd
// CHECK: [[B:%.+]] = spirv.FMul [[A]]
// CHECK: [[C:%.+]] = spirv.FSub [[B]]
// CHECK: spirv.Store "Function" [[V]], [[C]] : f32
// CHECK: [[L:%.+]] = spirv.Load "Function" [[V]] : f32
// CHECK: spirv.FDiv [[L]]
spirv.module Logical GLSL450 {
  spirv.func @f(%x: f32) -> f32 "None" {
    %0 = spirv.FAdd %x, %x : f32
    %1 = spirv.FMul %0, %x : f32
    %2 = spirv.FSub %1, %x : f32
    %3 = spirv.FDiv %2, %x : f32
    spirv.ReturnValue %3 : f32
  }
}
