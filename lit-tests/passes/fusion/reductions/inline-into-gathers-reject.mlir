// RUN: %xyntra-opt %s --inline-into-gathers | FileCheck %s

#id = affine_map<(m, n) -> (m, n)>

// Of seven elements one is no small part.
// CHECK-LABEL: func.func @short_rows(
// CHECK: [[L:%.+]] = "xyntra.log_softmax"
// CHECK: tensor.extract [[L]]
func.func @short_rows(%x: tensor<32x7xf32>, %y: tensor<32x1xi64>) -> tensor<32x1xf32> {
  %l = "xyntra.log_softmax"(%x) {axis = 1 : i64} : (tensor<32x7xf32>) -> tensor<32x7xf32>
  %f = tensor.empty() : tensor<32x1xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<32x1xi64>) outs(%f : tensor<32x1xf32>) {
  ^bb0(%p: i64, %o: f32):
    %i = arith.index_cast %p : i64 to index
    %m = linalg.index 0 : index
    %v = tensor.extract %l[%m, %i] : tensor<32x7xf32>
    linalg.yield %v : f32
  } -> tensor<32x1xf32>
  return %r : tensor<32x1xf32>
}

// All elements are stored anyway.
// CHECK-LABEL: func.func @returned(
// CHECK: [[L:%.+]] = "xyntra.log_softmax"
// CHECK: tensor.extract [[L]]
func.func @returned(%x: tensor<32x700xf32>, %y: tensor<32x1xi64>) -> (tensor<32x1xf32>, tensor<32x700xf32>) {
  %l = "xyntra.log_softmax"(%x) {axis = 1 : i64} : (tensor<32x700xf32>) -> tensor<32x700xf32>
  %f = tensor.empty() : tensor<32x1xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<32x1xi64>) outs(%f : tensor<32x1xf32>) {
  ^bb0(%p: i64, %o: f32):
    %i = arith.index_cast %p : i64 to index
    %m = linalg.index 0 : index
    %v = tensor.extract %l[%m, %i] : tensor<32x700xf32>
    linalg.yield %v : f32
  } -> tensor<32x1xf32>
  return %r, %l : tensor<32x1xf32>, tensor<32x700xf32>
}

// What the operation reads would be stored in its place.
// CHECK-LABEL: func.func @behind_a_norm(
// CHECK: [[N:%.+]] = "xyntra.rms_norm"
// CHECK: [[L:%.+]] = linalg.generic
// CHECK: tensor.extract [[L]]
func.func @behind_a_norm(%x: tensor<32x700xf32>, %y: tensor<32x1xi64>) -> (tensor<32x1xf32>, tensor<32x700xf32>) {
  %n = "xyntra.rms_norm"(%x) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0>} : (tensor<32x700xf32>) -> tensor<32x700xf32>
  %e = tensor.empty() : tensor<32x700xf32>
  %l = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%n : tensor<32x700xf32>) outs(%e : tensor<32x700xf32>) {
  ^bb0(%p: f32, %o: f32):
    %v = arith.negf %p : f32
    linalg.yield %v : f32
  } -> tensor<32x700xf32>
  %f = tensor.empty() : tensor<32x1xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<32x1xi64>) outs(%f : tensor<32x1xf32>) {
  ^bb0(%p: i64, %o: f32):
    %i = arith.index_cast %p : i64 to index
    %m = linalg.index 0 : index
    %v = tensor.extract %l[%m, %i] : tensor<32x700xf32>
    linalg.yield %v : f32
  } -> tensor<32x1xf32>
  return %r, %l : tensor<32x1xf32>, tensor<32x700xf32>
}

// What is read backwards would need arithmetic of places.
// CHECK-LABEL: func.func @backwards(
// CHECK: [[L:%.+]] = linalg.generic {{.+}}
// CHECK: math.exp
// CHECK: tensor.extract [[L]]
func.func @backwards(%x: tensor<32x700xf32>, %y: tensor<32x1xi64>) -> tensor<32x1xf32> {
  %e = tensor.empty() : tensor<32x700xf32>
  %l = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, -n + 699)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<32x700xf32>) outs(%e : tensor<32x700xf32>) {
  ^bb0(%p: f32, %o: f32):
    %v = math.exp %p : f32
    linalg.yield %v : f32
  } -> tensor<32x700xf32>
  %f = tensor.empty() : tensor<32x1xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<32x1xi64>) outs(%f : tensor<32x1xf32>) {
  ^bb0(%p: i64, %o: f32):
    %i = arith.index_cast %p : i64 to index
    %m = linalg.index 0 : index
    %v = tensor.extract %l[%m, %i] : tensor<32x700xf32>
    linalg.yield %v : f32
  } -> tensor<32x1xf32>
  return %r : tensor<32x1xf32>
}
