// RUN: %xyntra-opt %s --small-integers-as-words --canonicalize | FileCheck %s

// CHECK: gpu.func @bytes(%{{.*}}: memref<3xi32>, %{{.*}}: memref<4xi32>, %{{.*}}: memref<1xi32>)
// CHECK: [[WORD:%.+]] = memref.load %{{.*}} : memref<3xi32>
// CHECK: [[MOVED:%.+]] = arith.shrui [[WORD]], %{{.*}} : i32
// CHECK: [[BYTE:%.+]] = arith.andi [[MOVED]], %c255_i32 : i32
// Signed numbers are extended before they are divided.
// CHECK: [[UP:%.+]] = arith.shli [[BYTE]], %c24_i32 : i32
// CHECK: [[SIGNED:%.+]] = arith.shrsi [[UP]], %c24_i32 : i32
// CHECK: arith.divsi [[SIGNED]], %{{.*}} : i32
// Other threads may store into the rest of the word.
// CHECK: memref.atomic_rmw andi %{{.*}} : (i32, memref<4xi32>) -> i32
// CHECK: memref.atomic_rmw ori %{{.*}} : (i32, memref<4xi32>) -> i32
// CHECK: memref.atomic_rmw andi %{{.*}} : (i32, memref<1xi32>) -> i32
// CHECK: memref.atomic_rmw ori %{{.*}} : (i32, memref<1xi32>) -> i32
// CHECK-NOT: i8
// CHECK-NOT: i16
module {
  gpu.module @device {
    gpu.func @bytes(%x: memref<10xi8>, %y: memref<7xi16>, %z: memref<3xi1>) kernel {
      %t = gpu.thread_id x
      %0 = memref.load %x[%t] : memref<10xi8>
      %1 = arith.constant -3 : i8
      %2 = arith.divsi %0, %1 : i8
      %3 = arith.extsi %2 : i8 to i16
      memref.store %3, %y[%t] : memref<7xi16>
      %4 = arith.cmpi slt, %2, %1 : i8
      memref.store %4, %z[%t] : memref<3xi1>
      gpu.return
    }
  }
}
