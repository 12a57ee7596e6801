// RUN: %xyntra-opt %s --rows-in-place | FileCheck %s

#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#swap = affine_map<(d0, d1, d2) -> (d0, d2, d1)>

// The function returns the transposed rows.
// CHECK-LABEL: func.func @returned(
// CHECK: %[[T:.+]] = linalg.generic
// CHECK: %[[S:.+]] = "xyntra.softmax"(%[[T]]) {axis = 2 : i64}
// CHECK: return %[[S]]
func.func @returned(%x: tensor<2x5x24xf32>) -> tensor<2x24x5xf32> {
  %e = tensor.empty() : tensor<2x24x5xf32>
  %0 = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x5x24xf32>) outs(%e : tensor<2x24x5xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<2x24x5xf32>
  %1 = "xyntra.softmax"(%0) {axis = 2 : i64} : (tensor<2x24x5xf32>) -> tensor<2x24x5xf32>
  return %1 : tensor<2x24x5xf32>
}

// No vector is full of neighbours.
// CHECK-LABEL: func.func @few_neighbours(
// CHECK: xyntra.layer_norm
func.func @few_neighbours(%x: tensor<2x64x3xf32>) -> tensor<2x64x3xf32> {
  %e = tensor.empty() : tensor<2x3x64xf32>
  %0 = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x64x3xf32>) outs(%e : tensor<2x3x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<2x3x64xf32>
  %1 = "xyntra.layer_norm"(%0) {axis = 2 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<2x3x64xf32>) -> tensor<2x3x64xf32>
  %f = tensor.empty() : tensor<2x64x3xf32>
  %2 = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%1 : tensor<2x3x64xf32>) outs(%f : tensor<2x64x3xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<2x64x3xf32>
  return %2 : tensor<2x64x3xf32>
}

// Rows that the transpose leaves contiguous, in another order.
#other = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
// CHECK-LABEL: func.func @contiguous(
// CHECK: "xyntra.softmax"(%{{.+}}) {axis = 2 : i64}
func.func @contiguous(%x: tensor<24x5x32xf32>) -> tensor<24x5x32xf32> {
  %e = tensor.empty() : tensor<5x24x32xf32>
  %0 = linalg.generic {indexing_maps = [#other, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<24x5x32xf32>) outs(%e : tensor<5x24x32xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<5x24x32xf32>
  %1 = "xyntra.softmax"(%0) {axis = 2 : i64} : (tensor<5x24x32xf32>) -> tensor<5x24x32xf32>
  %f = tensor.empty() : tensor<24x5x32xf32>
  %2 = linalg.generic {indexing_maps = [#other, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%1 : tensor<5x24x32xf32>) outs(%f : tensor<24x5x32xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<24x5x32xf32>
  return %2 : tensor<24x5x32xf32>
}
