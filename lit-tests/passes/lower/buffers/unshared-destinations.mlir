// RUN: %xyntra-opt %s --unshared-destinations | FileCheck %s

// Two results begin with the same insertion: each gets one of its own, and an empty tensor.
// CHECK-LABEL: func.func @concatenations
// CHECK: %[[E:.+]] = tensor.empty
// CHECK: %[[F:.+]] = tensor.empty
// CHECK: %[[A:.+]] = tensor.insert_slice %arg0 into %[[F]][0]
// CHECK: %[[B:.+]] = tensor.insert_slice %arg0 into %[[E]][0]
// CHECK: tensor.insert_slice %arg1 into %[[A]][2]
// CHECK: tensor.insert_slice %arg2 into %[[B]][2]
// CHECK: bufferization.materialize_in_destination
func.func @concatenations(%x: tensor<2xf32>, %y: tensor<2xf32>, %z: tensor<2xf32>, %a: memref<4xf32>, %b: memref<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = tensor.insert_slice %x into %e[0] [2] [1] : tensor<2xf32> into tensor<4xf32>
  %1 = tensor.insert_slice %y into %0[2] [2] [1] : tensor<2xf32> into tensor<4xf32>
  %2 = tensor.insert_slice %z into %0[2] [2] [1] : tensor<2xf32> into tensor<4xf32>
  bufferization.materialize_in_destination %1 in restrict writable %a : (tensor<4xf32>, memref<4xf32>) -> ()
  bufferization.materialize_in_destination %2 in restrict writable %b : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}

// What is a result and the start of another one has memory of its own, as the second copies over it.
// CHECK-LABEL: func.func @continued
// CHECK: %[[OWN:.+]] = bufferization.alloc_tensor() : tensor<4xf32>
// CHECK: %[[FIRST:.+]] = tensor.insert_slice %arg0 into %[[OWN]][0]
// CHECK: tensor.insert_slice %arg1 into %[[FIRST]][2]
func.func @continued(%x: tensor<2xf32>, %y: tensor<2xf32>, %a: memref<4xf32>, %b: memref<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = tensor.insert_slice %x into %e[0] [2] [1] : tensor<2xf32> into tensor<4xf32>
  %1 = tensor.insert_slice %y into %0[2] [2] [1] : tensor<2xf32> into tensor<4xf32>
  bufferization.materialize_in_destination %1 in restrict writable %a : (tensor<4xf32>, memref<4xf32>) -> ()
  bufferization.materialize_in_destination %0 in restrict writable %b : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}
