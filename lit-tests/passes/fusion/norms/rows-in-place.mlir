// RUN: %xyntra-opt %s --rows-in-place | FileCheck %s --implicit-check-not=xyntra.layer_norm

#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#last = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>
#first = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>

// Statistics and the norm itself read the image as it lies.
// CHECK-LABEL: func.func @norm(
// CHECK: iterator_types = ["parallel", "reduction", "parallel", "parallel"]} ins(%arg0
// CHECK: iterator_types = ["parallel", "reduction", "parallel", "parallel"]}
// CHECK: math.sqrt
// CHECK: %[[Y:.+]] = linalg.generic {{.+}} outs(%{{.+}} : tensor<2x5x4x6xf32>)
// CHECK: return %[[Y]]
func.func @norm(%x: tensor<2x5x4x6xf32>, %s: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<2x5x4x6xf32> {
  %e = tensor.empty() : tensor<2x4x6x5xf32>
  %0 = linalg.generic {indexing_maps = [#last, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x5x4x6xf32>) outs(%e : tensor<2x4x6x5xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<2x4x6x5xf32>
  %1 = "xyntra.layer_norm"(%0, %s, %b) {axis = 3 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<2x4x6x5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<2x4x6x5xf32>
  %f = tensor.empty() : tensor<2x5x4x6xf32>
  %2 = linalg.generic {indexing_maps = [#first, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%1 : tensor<2x4x6x5xf32>) outs(%f : tensor<2x5x4x6xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<2x5x4x6xf32>
  return %2 : tensor<2x5x4x6xf32>
}

// Softmax takes another axis; what comes before the opposite transpose follows.
// CHECK-LABEL: func.func @softmax(
// CHECK-NEXT: %[[S:.+]] = "xyntra.softmax"(%arg0) {axis = 1 : i64}
// CHECK: %[[Y:.+]] = linalg.generic {{.+}} ins(%[[S]] : tensor<2x5x4x6xf32>)
// CHECK: math.sqrt
// CHECK: return %[[Y]]
func.func @softmax(%x: tensor<2x5x4x6xf32>) -> tensor<2x5x4x6xf32> {
  %e = tensor.empty() : tensor<2x4x6x5xf32>
  %0 = linalg.generic {indexing_maps = [#last, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x5x4x6xf32>) outs(%e : tensor<2x4x6x5xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<2x4x6x5xf32>
  %1 = "xyntra.softmax"(%0) {axis = 3 : i64} : (tensor<2x4x6x5xf32>) -> tensor<2x4x6x5xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%1 : tensor<2x4x6x5xf32>) outs(%e : tensor<2x4x6x5xf32>) {
  ^bb0(%p: f32, %o: f32):
    %r = math.sqrt %p : f32
    linalg.yield %r : f32
  } -> tensor<2x4x6x5xf32>
  %f = tensor.empty() : tensor<2x5x4x6xf32>
  %3 = linalg.generic {indexing_maps = [#first, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%2 : tensor<2x4x6x5xf32>) outs(%f : tensor<2x5x4x6xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<2x5x4x6xf32>
  return %3 : tensor<2x5x4x6xf32>
}
