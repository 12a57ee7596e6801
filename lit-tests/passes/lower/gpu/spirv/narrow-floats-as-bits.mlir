// RUN: %xyntra-opt %s --narrow-floats-as-bits --canonicalize | FileCheck %s

// CHECK: gpu.func @sum(%{{.*}}: memref<8xi16>, %{{.*}}: memref<8xi16>, %{{.*}}: memref<8xf32>)
// bf16 are the upper halves of f32.
// CHECK: [[B:%.+]] = memref.load %{{.*}} : memref<8xi16>
// CHECK: [[W:%.+]] = arith.extui [[B]] : i16 to i32
// CHECK: [[S:%.+]] = arith.shli [[W]], %c16_i32 : i32
// CHECK: arith.bitcast [[S]] : i32 to f32
// CHECK: scf.for
// CHECK-SAME: iter_args(%{{.*}} = %c14336_i16) -> (i16)
// A sum is rounded to f16 in every step.
// CHECK: arith.addf %{{.*}} : f32
// CHECK: arith.trunci %{{.*}} : i32 to i16
// CHECK: scf.yield %{{.*}} : i16
// CHECK: memref.store %{{.*}} : memref<8xi16>
// CHECK-NOT: f16
module {
  gpu.module @device {
    gpu.func @sum(%x: memref<8xf16>, %y: memref<8xbf16>, %z: memref<8xf32>) kernel {
      %t = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %half = arith.constant 0.5 : f16
      %0 = memref.load %y[%t] : memref<8xbf16>
      %1 = arith.extf %0 : bf16 to f32
      memref.store %1, %z[%t] : memref<8xf32>
      %s = scf.for %k = %c0 to %c8 step %c1 iter_args(%a = %half) -> (f16) {
        %v = memref.load %x[%k] : memref<8xf16>
        %q = arith.addf %a, %v : f16
        scf.yield %q : f16
      }
      memref.store %s, %x[%t] : memref<8xf16>
      gpu.return
    }
  }
}
