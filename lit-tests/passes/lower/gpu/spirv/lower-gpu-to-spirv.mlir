// RUN: %xyntra-opt %s --lower-gpu-to-spirv | FileCheck %s

// CHECK: spirv.module @{{.*}} Logical GLSL450
// CHECK-SAME: GroupNonUniformShuffle
// CHECK-DAG: spirv.GlobalVariable @{{.*}} : !spirv.ptr<!spirv.struct<(!spirv.array<32 x f32>)>, Workgroup>
// CHECK-DAG: spirv.GlobalVariable @sums_arg_0 bind(0, 0) : !spirv.ptr<!spirv.struct<(!spirv.array<256 x f32, stride=4> [0])>, StorageBuffer>
// CHECK-DAG: spirv.GlobalVariable @sums_arg_1 bind(0, 1) : !spirv.ptr<!spirv.struct<(!spirv.array<4 x i32, stride=4> [0])>, StorageBuffer>
// CHECK: spirv.func @sums()
// CHECK: spirv.GroupNonUniformShuffleXor
// CHECK: spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|UniformMemory|WorkgroupMemory>
// CHECK: spirv.EntryPoint "GLCompute" @sums
// CHECK: spirv.ExecutionMode @sums "LocalSize", 32, 1, 1
module attributes {gpu.container_module} {
  gpu.module @device {
    gpu.func @sums(%x: memref<8x32xf32>, %y: memref<8xbf16>) workgroup(%s: memref<32xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %b = gpu.block_id x
      %t = gpu.thread_id x
      %0 = memref.load %x[%b, %t] : memref<8x32xf32>
      %1 = arith.constant 1 : i32
      %32 = arith.constant 32 : i32
      %other, %valid = gpu.shuffle xor %0, %1, %32 : f32
      memref.store %other, %s[%t] : memref<32xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %2 = memref.load %s[%b] : memref<32xf32, #gpu.address_space<workgroup>>
      %3 = arith.truncf %2 : f32 to bf16
      memref.store %3, %y[%b] : memref<8xbf16>
      gpu.return
    }
  }
}
