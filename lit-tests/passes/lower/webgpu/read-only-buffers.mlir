// RUN: %xyntra-opt %s --read-only-buffers | FileCheck %s

// CHECK: spirv.GlobalVariable @read bind(0, 0) {non_writable}
// CHECK: spirv.GlobalVariable @written bind(0, 1) : !spirv.ptr
spirv.module Logical GLSL450 {
  spirv.GlobalVariable @read bind(0, 0) : !spirv.ptr<!spirv.struct<(!spirv.array<4 x f32, stride=4> [0])>, StorageBuffer>
  spirv.GlobalVariable @written bind(0, 1) : !spirv.ptr<!spirv.struct<(!spirv.array<4 x f32, stride=4> [0])>, StorageBuffer>
  spirv.func @f() "None" {
    %a = spirv.mlir.addressof @read : !spirv.ptr<!spirv.struct<(!spirv.array<4 x f32, stride=4> [0])>, StorageBuffer>
    %b = spirv.mlir.addressof @written : !spirv.ptr<!spirv.struct<(!spirv.array<4 x f32, stride=4> [0])>, StorageBuffer>
    %0 = spirv.Constant 0 : i32
    %p = spirv.AccessChain %a[%0, %0] : !spirv.ptr<!spirv.struct<(!spirv.array<4 x f32, stride=4> [0])>, StorageBuffer>, i32, i32 -> !spirv.ptr<f32, StorageBuffer>
    %v = spirv.Load "StorageBuffer" %p : f32
    %q = spirv.AccessChain %b[%0, %0] : !spirv.ptr<!spirv.struct<(!spirv.array<4 x f32, stride=4> [0])>, StorageBuffer>, i32, i32 -> !spirv.ptr<f32, StorageBuffer>
    spirv.Store "StorageBuffer" %q, %v : f32
    spirv.Return
  }
}
