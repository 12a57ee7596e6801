// RUN: %xyntra-opt %s --read-only-buffers | FileCheck %s

// Atomic operations write.
// CHECK-NOT: non_writable
spirv.module Logical GLSL450 {
  spirv.GlobalVariable @counts bind(0, 0) : !spirv.ptr<!spirv.struct<(!spirv.array<4 x i32, stride=4> [0])>, StorageBuffer>
  spirv.func @f() "None" {
    %a = spirv.mlir.addressof @counts : !spirv.ptr<!spirv.struct<(!spirv.array<4 x i32, stride=4> [0])>, StorageBuffer>
    %0 = spirv.Constant 0 : i32
    %p = spirv.AccessChain %a[%0, %0] : !spirv.ptr<!spirv.struct<(!spirv.array<4 x i32, stride=4> [0])>, StorageBuffer>, i32, i32 -> !spirv.ptr<i32, StorageBuffer>
    %v = spirv.AtomicIAdd <Device> <AcquireRelease> %p, %0 : !spirv.ptr<i32, StorageBuffer>
    spirv.Return
  }
}
