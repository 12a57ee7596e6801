// RUN: %xyntra-opt %s --signed-integers | FileCheck %s

// What is the same for signed and unsigned integers stays.
// CHECK-NOT: spirv.Bitcast
// CHECK: spirv.IAdd %{{.*}} : i32
// CHECK: spirv.UDiv %{{.*}} : i32
spirv.module Logical GLSL450 {
  spirv.func @f(%x: i32, %y: i32) -> i32 "None" {
    %0 = spirv.IAdd %x, %y : i32
    %1 = spirv.UDiv %0, %y : i32
    spirv.ReturnValue %1 : i32
  }
}
