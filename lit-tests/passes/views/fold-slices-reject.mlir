// RUN: %xyntra-opt %s --fold-slices | FileCheck %s

#id2 = affine_map<(d0, d1) -> (d0, d1)>

// All of the tensor is read elsewhere, so all of it is computed.
// CHECK-LABEL: func.func @shared(
// CHECK: %[[Y:.+]] = linalg.generic {{.+}} outs(%{{.+}} : tensor<8x4xf32>)
// CHECK: %[[S:.+]] = tensor.extract_slice %[[Y]]
// CHECK: return %[[Y]], %[[S]]
func.func @shared(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<1x4xf32>) {
  %e0 = tensor.empty() : tensor<8x4xf32>
  %y = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%e0 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  %s = tensor.extract_slice %y[2, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<1x4xf32>
  return %y, %s : tensor<8x4xf32>, tensor<1x4xf32>
}

// A part of the dimension that a row op reduces says nothing about the part of its operand.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[X:.+]]: tensor<8x4xf32>)
// CHECK: %[[Y:.+]] = "xyntra.softmax"(%[[X]])
// CHECK: tensor.extract_slice %[[Y]]
func.func @rows(%x: tensor<8x4xf32>) -> tensor<8x2xf32> {
  %y = "xyntra.softmax"(%x) {axis = 1} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %s = tensor.extract_slice %y[0, 0] [8, 2] [1, 1] : tensor<8x4xf32> to tensor<8x2xf32>
  return %s : tensor<8x2xf32>
}

// Nearly all of a tensor is not worth odd sizes, and a body that knows its position keeps it.
// CHECK-LABEL: func.func @most(
// CHECK: linalg.generic {{.+}} outs(%{{.+}} : tensor<8x4xf32>)
// CHECK: tensor.extract_slice
// CHECK: linalg.generic {{.+}} outs(%{{.+}} : tensor<8x4xf32>)
// CHECK: linalg.index
// CHECK: tensor.extract_slice
func.func @most(%x: tensor<8x4xf32>) -> (tensor<7x4xf32>, tensor<1x4xf32>) {
  %e0 = tensor.empty() : tensor<8x4xf32>
  %y = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%e0 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  %s = tensor.extract_slice %y[0, 0] [7, 4] [1, 1] : tensor<8x4xf32> to tensor<7x4xf32>
  %e = tensor.empty() : tensor<8x4xf32>
  %z = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %k = arith.sitofp %j : i32 to f32
    %a = arith.addf %in, %k : f32
    linalg.yield %a : f32
  } -> tensor<8x4xf32>
  %u = tensor.extract_slice %z[3, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<1x4xf32>
  return %s, %u : tensor<7x4xf32>, tensor<1x4xf32>
}

// Across both parts of a concatenation, and across a dimension that a reshape made of two.
// CHECK-LABEL: func.func @across(
// CHECK: %[[C:.+]] = tensor.insert_slice %{{.+}} into %{{.+}}[4, 0]
// CHECK: tensor.extract_slice %[[C]]
// CHECK: %[[J:.+]] = tensor.collapse_shape
// CHECK: tensor.extract_slice %[[J]]
func.func @across(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<2x8xf32>, tensor<5xf32>) {
  %e = tensor.empty() : tensor<8x8xf32>
  %0 = tensor.insert_slice %x into %e[0, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  %1 = tensor.insert_slice %y into %0[4, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  %v = tensor.extract_slice %1[3, 0] [2, 8] [1, 1] : tensor<8x8xf32> to tensor<2x8xf32>
  %e1 = tensor.empty() : tensor<4x8xf32>
  %z = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e1 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %c = tensor.collapse_shape %z [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  %u = tensor.extract_slice %c[6] [5] [1] : tensor<32xf32> to tensor<5xf32>
  return %v, %u : tensor<2x8xf32>, tensor<5xf32>
}

// Where queries see the keys before them, their numbers count.
// CHECK-LABEL: func.func @causal(
// CHECK: %[[A:.+]] = "xyntra.attention"
// CHECK: tensor.extract_slice %[[A]]
func.func @causal(%q: tensor<2x8x4xf32>) -> tensor<2x1x4xf32> {
  %a = "xyntra.attention"(%q, %q, %q) {
    causal = true, masked_rows = "nan", scale = 0.5 : f32, sizes = array<i64: 1, 2, 8, 8, 4, 4>,
    indexing_maps = [
      affine_map<(b, h, s, t, d, e) -> (h, s, d)>, affine_map<(b, h, s, t, d, e) -> (h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (h, t, e)>, affine_map<(b, h, s, t, d, e) -> (h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>
  } : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %s = tensor.extract_slice %a[0, 5, 0] [2, 1, 4] [1, 1, 1] : tensor<2x8x4xf32> to tensor<2x1x4xf32>
  return %s : tensor<2x1x4xf32>
}
