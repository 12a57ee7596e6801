// RUN: %xyntra-opt %s --unshared-destinations | FileCheck %s

// A result that others read stays where it is: nothing is written over it.
// CHECK-LABEL: func.func @read
// CHECK-NOT: alloc_tensor
// CHECK: %[[E:.+]] = tensor.empty
// CHECK: %[[X:.+]] = linalg.exp {{.+}} outs(%[[E]]
// CHECK: %[[F:.+]] = tensor.empty
// CHECK: linalg.negf ins(%[[X]] {{.+}} outs(%[[F]]
func.func @read(%x: tensor<4xf32>, %a: memref<4xf32>, %b: memref<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %f = tensor.empty() : tensor<4xf32>
  %1 = linalg.negf ins(%0 : tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
  bufferization.materialize_in_destination %0 in restrict writable %a : (tensor<4xf32>, memref<4xf32>) -> ()
  bufferization.materialize_in_destination %1 in restrict writable %b : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}
