// RUN: %xyntra-opt %s --move-reshapes | FileCheck %s

#id1 = affine_map<(d0) -> (d0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#id4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#m = affine_map<(d0, d1, d2) -> (d0, d2)>
#n = affine_map<(d0, d1, d2) -> (d2, d1)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>

// Bias and residual of a contraction run over its dimensions; the expansion comes last.
// CHECK-LABEL: func.func @residual(
// CHECK: %[[Y:.+]] = linalg.generic
// CHECK: %[[A:.+]] = linalg.generic {{.+}} ins(%[[Y]], %{{.+}} : tensor<4x8xf32>, tensor<8xf32>)
// CHECK: %[[R:.+]] = tensor.collapse_shape %{{.+}} {{\[\[}}0, 1], [2]] : tensor<1x4x8xf32> into tensor<4x8xf32>
// CHECK: %[[Z:.+]] = linalg.generic {{.+}} ins(%[[A]], %[[R]] : tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK: %[[E:.+]] = tensor.expand_shape %[[Z]]
// CHECK: return %[[E]]
func.func @residual(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>, %b: tensor<8xf32>, %r: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4x8xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#m, #n, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x6xf32>, tensor<6x8xf32>) outs(%f0 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %p = arith.mulf %in, %in_1 : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %x3 = tensor.expand_shape %y [[0, 1], [2]] output_shape [1, 4, 8] : tensor<4x8xf32> into tensor<1x4x8xf32>
  %e1 = tensor.empty() : tensor<1x4x8xf32>
  %a = linalg.generic {indexing_maps = [#id3, affine_map<(d0, d1, d2) -> (d2)>, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x3, %b : tensor<1x4x8xf32>, tensor<8xf32>) outs(%e1 : tensor<1x4x8xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %s = arith.addf %in, %in_1 : f32
    linalg.yield %s : f32
  } -> tensor<1x4x8xf32>
  %e2 = tensor.empty() : tensor<1x4x8xf32>
  %z = linalg.generic {indexing_maps = [#id3, #id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a, %r : tensor<1x4x8xf32>, tensor<1x4x8xf32>) outs(%e2 : tensor<1x4x8xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %s = arith.addf %in, %in_1 : f32
    linalg.yield %s : f32
  } -> tensor<1x4x8xf32>
  return %z : tensor<1x4x8xf32>
}

// A row op joins the dimensions in front of its rows; the reshape behind it then does nothing.
// CHECK-LABEL: func.func @norm(
// CHECK: %[[Y:.+]] = linalg.generic
// CHECK: %[[N:.+]] = "xyntra.layer_norm"(%[[Y]], %{{.+}}) {axis = 1 : i64, {{.+}}} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: return %[[N]]
func.func @norm(%x: tensor<4x8xf32>, %g: tensor<8xf32>) -> tensor<4x8xf32> {
  %e0 = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e0 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %x3 = tensor.expand_shape %y [[0, 1], [2]] output_shape [1, 4, 8] : tensor<4x8xf32> into tensor<1x4x8xf32>
  %n = "xyntra.layer_norm"(%x3, %g) {axis = 2, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<1x4x8xf32>, tensor<8xf32>) -> tensor<1x4x8xf32>
  %c = tensor.collapse_shape %n [[0, 1], [2]] : tensor<1x4x8xf32> into tensor<4x8xf32>
  return %c : tensor<4x8xf32>
}

// So does a softmax, and the contraction behind it loses its loop of one step.
// CHECK-LABEL: func.func @contraction(
// CHECK: %[[S:.+]] = "xyntra.softmax"(%{{.+}}) {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: linalg.generic {{.+}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[S]], %{{.+}} : tensor<4x8xf32>, tensor<8x6xf32>) outs(%{{.+}} : tensor<4x6xf32>)
// CHECK: tensor.expand_shape
func.func @contraction(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) -> tensor<1x4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e0 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %x3 = tensor.expand_shape %y [[0, 1], [2]] output_shape [1, 4, 8] : tensor<4x8xf32> into tensor<1x4x8xf32>
  %v = "xyntra.softmax"(%x3) {axis = 2} : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %e = tensor.empty() : tensor<1x4x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
  %z = linalg.generic {
    indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%v, %w : tensor<1x4x8xf32>, tensor<8x6xf32>) outs(%f : tensor<1x4x6xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %p = arith.mulf %in, %in_1 : f32
    %q = arith.addf %out, %p : f32
    linalg.yield %q : f32
  } -> tensor<1x4x6xf32>
  return %z : tensor<1x4x6xf32>
}

// Heads that are parted and scaled: the scaling runs over the rows.
// CHECK-LABEL: func.func @heads(
// CHECK: linalg.generic
// CHECK: linalg.generic {{.+}} outs(%{{.+}} : tensor<4x8xf32>)
// CHECK: tensor.expand_shape
func.func @heads(%x: tensor<4x8xf32>) -> tensor<4x2x4xf32> {
  %e0 = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e0 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %h = tensor.expand_shape %y [[0], [1, 2]] output_shape [4, 2, 4] : tensor<4x8xf32> into tensor<4x2x4xf32>
  %e1 = tensor.empty() : tensor<4x2x4xf32>
  %z = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%h : tensor<4x2x4xf32>) outs(%e1 : tensor<4x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<4x2x4xf32>
  return %z : tensor<4x2x4xf32>
}

// Statistics of rows are read without the dimension of size 1 that keeps their place.
// CHECK-LABEL: func.func @statistics(
// CHECK: %[[Y:.+]] = linalg.generic
// CHECK-NOT: tensor.expand_shape
// CHECK: linalg.generic {indexing_maps = [#{{.+}}, #[[R:.+]], #{{.+}}], {{.+}} ins(%{{.+}}, %[[Y]] : tensor<4x8xf32>, tensor<4xf32>)
func.func @statistics(%x: tensor<4x8xf32>, %v: tensor<4xf32>) -> tensor<4x8xf32> {
  %e0 = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#id1, #id1], iterator_types = ["parallel"]} ins(%v : tensor<4xf32>) outs(%e0 : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %u = tensor.expand_shape %y [[0, 1]] output_shape [4, 1] : tensor<4xf32> into tensor<4x1xf32>
  %e1 = tensor.empty() : tensor<4x8xf32>
  %z = linalg.generic {indexing_maps = [#id2, affine_map<(d0, d1) -> (d0, 0)>, #id2], iterator_types = ["parallel", "parallel"]} ins(%x, %u : tensor<4x8xf32>, tensor<4x1xf32>) outs(%e1 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %s = arith.addf %in, %in_1 : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}
