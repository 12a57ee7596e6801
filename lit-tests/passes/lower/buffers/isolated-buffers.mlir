// RUN: %xyntra-opt %s --isolated-buffers | FileCheck %s

// Arguments that trade places are copied aside before one is written.
// CHECK-LABEL: func.func @swapped(
// CHECK-SAME: [[X:%[a-z0-9]+]]: tensor<4xf32>, [[Y:%[a-z0-9]+]]: tensor<4xf32>)
// CHECK: [[A:%.+]] = bufferization.alloc_tensor() copy([[Y]])
// CHECK: [[B:%.+]] = bufferization.alloc_tensor() copy([[X]])
// CHECK: bufferization.materialize_in_destination [[A]] in [[X]]
// CHECK: bufferization.materialize_in_destination [[B]] in [[Y]]
func.func @swapped(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = bufferization.materialize_in_destination %y in %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = bufferization.materialize_in_destination %x in %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// A loop writes what it yields into the buffer that it got, through a copy.
// CHECK-LABEL: func.func @counted(
// CHECK: scf.for {{.+}} iter_args([[A:%.+]] = {{%.+}}, [[B:%.+]] = {{%.+}}) ->
// CHECK: [[FROM_B:%.+]] = bufferization.alloc_tensor() copy([[B]])
// CHECK: [[FROM_A:%.+]] = bufferization.alloc_tensor() copy([[A]])
// CHECK: [[TO_A:%.+]] = bufferization.materialize_in_destination [[FROM_B]] in [[A]]
// CHECK: [[TO_B:%.+]] = bufferization.materialize_in_destination [[FROM_A]] in [[B]]
// CHECK: scf.yield [[TO_A]], [[TO_B]]
func.func @counted(%n: index, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<4xf32>, tensor<4xf32>) {
    scf.yield %b, %a : tensor<4xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @while(
// CHECK: ^bb0([[A:%.+]]: tensor<4xf32>):
// CHECK: [[N:%.+]] = math.absf [[A]]
// CHECK: [[COPY:%.+]] = bufferization.alloc_tensor() copy([[N]])
// CHECK: [[NEXT:%.+]] = bufferization.materialize_in_destination [[COPY]] in [[A]]
// CHECK: scf.yield [[NEXT]]
func.func @while(%x: tensor<4xf32>, %more: i1) -> tensor<4xf32> {
  %0 = scf.while (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    scf.condition(%more) %a : tensor<4xf32>
  } do {
  ^bb0(%b: tensor<4xf32>):
    %n = math.absf %b : tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
