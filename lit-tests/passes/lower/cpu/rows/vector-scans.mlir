// RUN: %xyntra-opt %s --vector-scans | FileCheck %s

// Eight elements in three steps, then what is before them; four and one are left of 21.
// CHECK-LABEL: func.func private @rows(
// CHECK: scf.for {{.+}} to %c3
// CHECK: %[[RUNNING:.+]] = scf.for {{.+}} to %c2{{.*}} iter_args(%[[BEFORE:.+]] = %{{.+}}) -> (vector<8xf32>)
// CHECK: %[[X:.+]] = vector.load
// CHECK: %[[A:.+]] = vector.shuffle %[[X]], %{{.+}} [8, 0, 10, 2, 12, 4, 14, 6]
// CHECK: arith.addf %[[A]], %[[X]] fastmath<contract>
// CHECK: vector.shuffle %{{.+}}, %{{.+}} [8, 9, 1, 1, 12, 13, 5, 5]
// CHECK: vector.shuffle %{{.+}}, %{{.+}} [8, 9, 10, 11, 3, 3, 3, 3]
// CHECK: arith.addf %[[BEFORE]]
// CHECK: vector.store {{.+}} vector<8xf32>
// CHECK: scf.yield
// CHECK: vector.load {{.+}} vector<4xf32>
// CHECK: vector.store {{.+}} vector<4xf32>
// CHECK: vector.load {{.+}} vector<1xf32>
// CHECK: vector.store {{.+}} vector<1xf32>
// CHECK-NOT: memref.store
func.func private @rows(%x: memref<3x21xf32>, %y: memref<3x21xf32>) attributes {xyntra.inputs = 1 : i64, xyntra.kernel = #xyntra.kernel<{kind = "generic"}>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c21 = arith.constant 21 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c3 step %c1 {
    %sum = scf.for %j = %c0 to %c21 step %c1 iter_args(%s = %zero) -> (f32) {
      %e = memref.load %x[%i, %j] : memref<3x21xf32>
      %t = arith.addf %s, %e fastmath<contract> : f32
      memref.store %t, %y[%i, %j] : memref<3x21xf32>
      scf.yield %t : f32
    }
  } {xyntra.parallel}
  return
}

// From the last element to the first, of what is computed, without the element itself.
// CHECK-LABEL: func.func private @from_behind(
// CHECK: vector.load {{.+}} vector<4xi32>
// CHECK: arith.extsi {{.+}} : vector<4xi32> to vector<4xi64>
// CHECK: vector.shuffle %{{.+}}, %{{.+}} [1, 5, 3, 7]
// CHECK: vector.shuffle %{{.+}}, %{{.+}} [2, 2, 6, 7]
// CHECK: vector.shuffle %{{.+}}, %{{.+}} [0, 0, 0, 0]
// CHECK: %[[Y:.+]] = vector.shuffle %{{.+}}, %{{.+}} [1, 2, 3, 7]
// CHECK: vector.store %[[Y]]
func.func private @from_behind(%x: memref<8xi32>, %y: memref<8xi64>) attributes {xyntra.inputs = 1 : i64, xyntra.kernel = #xyntra.kernel<{kind = "generic"}>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0 : i64
  %sum = scf.for %j = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (i64) {
    %at = arith.subi %c7, %j : index
    %e = memref.load %x[%at] : memref<8xi32>
    %w = arith.extsi %e : i32 to i64
    memref.store %s, %y[%at] : memref<8xi64>
    %t = arith.addi %s, %w : i64
    scf.yield %t : i64
  }
  return
}
