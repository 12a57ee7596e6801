// RUN: %xyntra-opt %s --nonfinite-constants | FileCheck %s

// CHECK: spirv.func @f
// CHECK: [[V:%.+]] = spirv.Variable : !spirv.ptr<i32, Function>
// CHECK: [[BITS:%.+]] = spirv.Constant -8388608 : i32
// CHECK: spirv.Store "Function" [[V]], [[BITS]] : i32
// CHECK: [[LOADED:%.+]] = spirv.Load "Function" [[V]] : i32
// CHECK: [[INFINITE:%.+]] = spirv.Bitcast [[LOADED]] : i32 to f32
// CHECK: spirv.FAdd %{{.*}}, [[INFINITE]] : f32
spirv.module Logical GLSL450 {
  spirv.func @f(%x: f32) -> f32 "None" {
    %0 = spirv.Constant 0xFF800000 : f32
    %1 = spirv.FAdd %x, %0 : f32
    spirv.ReturnValue %1 : f32
  }
}
