// RUN: %xyntra-opt %s --isolated-buffers | FileCheck %s

// What a loop hands on unchanged stays where it is, and scalars are in no buffer.
// CHECK-LABEL: func.func @handed_on(
// CHECK: scf.for {{.+}} iter_args([[A:%.+]] = {{%.+}}, [[N:%.+]] = {{%.+}}) ->
// CHECK-NEXT: [[M:%.+]] = arith.addi [[N]], [[N]] : i32
// CHECK-NEXT: scf.yield [[A]], [[M]] :
func.func @handed_on(%end: index, %x: tensor<4xf32>, %n: i32) -> (tensor<4xf32>, i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0:2 = scf.for %i = %c0 to %end step %c1 iter_args(%a = %x, %b = %n) -> (tensor<4xf32>, i32) {
    %m = arith.addi %b, %b : i32
    scf.yield %a, %m : tensor<4xf32>, i32
  }
  return %0#0, %0#1 : tensor<4xf32>, i32
}

// A result with a buffer of its own depends on no other.
// CHECK-LABEL: func.func @destination(
// CHECK-SAME: [[X:%[a-z0-9]+]]: tensor<4xf32>, [[OUT:%[a-z0-9]+]]: memref<4xf32>)
// CHECK-NEXT: bufferization.materialize_in_destination [[X]] in restrict writable [[OUT]]
// CHECK-NEXT: return
func.func @destination(%x: tensor<4xf32>, %out: memref<4xf32>) {
  bufferization.materialize_in_destination %x in restrict writable %out : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}
