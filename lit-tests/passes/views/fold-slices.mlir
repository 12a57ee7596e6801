// RUN: %xyntra-opt %s --fold-slices | FileCheck %s

#id2 = affine_map<(d0, d1) -> (d0, d1)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#m = affine_map<(d0, d1, d2) -> (d0, d2)>
#n = affine_map<(d0, d1, d2) -> (d2, d1)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>

// One row of a norm of a contraction with a residual: all of it is computed for that row alone.
// CHECK-LABEL: func.func @token(
// CHECK-SAME: %[[X:.+]]: tensor<8x6xf32>, %[[W:.+]]: tensor<6x4xf32>, %[[R:.+]]: tensor<8x4xf32>, %[[G:.+]]: tensor<4xf32>)
// CHECK-DAG: %[[XS:.+]] = tensor.extract_slice %[[X]][2, 0] [1, 6] [1, 1]
// CHECK-DAG: %[[RS:.+]] = tensor.extract_slice %[[R]][2, 0] [1, 4] [1, 1]
// CHECK: %[[Y:.+]] = linalg.generic {{.+}} ins(%[[XS]], %[[W]] : tensor<1x6xf32>, tensor<6x4xf32>) outs(%{{.+}} : tensor<1x4xf32>)
// CHECK: %[[A:.+]] = linalg.generic {{.+}} ins(%[[Y]], %[[RS]] : tensor<1x4xf32>, tensor<1x4xf32>)
// CHECK: %[[N:.+]] = "xyntra.layer_norm"(%[[A]], %[[G]]) {{.+}} -> tensor<1x4xf32>
// CHECK: return %[[N]]
func.func @token(%x: tensor<8x6xf32>, %w: tensor<6x4xf32>, %r: tensor<8x4xf32>, %g: tensor<4xf32>) -> tensor<1x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x4xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %y = linalg.generic {indexing_maps = [#m, #n, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<8x6xf32>, tensor<6x4xf32>) outs(%f0 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %p = arith.mulf %in, %in_1 : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  %e1 = tensor.empty() : tensor<8x4xf32>
  %a = linalg.generic {indexing_maps = [#id2, #id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%y, %r : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e1 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %s = arith.addf %in, %in_1 : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  %n = "xyntra.layer_norm"(%a, %g) {axis = 1, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %s = tensor.extract_slice %n[2, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<1x4xf32>
  return %s : tensor<1x4xf32>
}

// One query of an attention needs all keys.
// CHECK-LABEL: func.func @query(
// CHECK-SAME: %[[Q:.+]]: tensor<2x8x4xf32>, %[[K:.+]]: tensor<2x8x4xf32>)
// CHECK: %[[S:.+]] = tensor.extract_slice %[[Q]][0, 0, 0] [2, 1, 4] [1, 1, 1]
// CHECK: %[[A:.+]] = "xyntra.attention"(%[[S]], %[[K]], %[[K]]) {{.*}}sizes = array<i64: 1, 2, 1, 8, 4, 4>{{.*}} -> tensor<2x1x4xf32>
// CHECK: tensor.collapse_shape %[[A]]
func.func @query(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>) -> tensor<2x4xf32> {
  %a = "xyntra.attention"(%q, %k, %k) {
    causal = false, masked_rows = "nan", scale = 0.5 : f32, sizes = array<i64: 1, 2, 8, 8, 4, 4>,
    indexing_maps = [
      affine_map<(b, h, s, t, d, e) -> (h, s, d)>, affine_map<(b, h, s, t, d, e) -> (h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (h, t, e)>, affine_map<(b, h, s, t, d, e) -> (h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>
  } : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %s = tensor.extract_slice %a[0, 0, 0] [2, 1, 4] [1, 1, 1] : tensor<2x8x4xf32> to tensor<2x4xf32>
  return %s : tensor<2x4xf32>
}

// A part of a concatenation is the tensor that was put there, also for a slice across a reshape.
// CHECK-LABEL: func.func @part(
// CHECK-SAME: %[[X:.+]]: tensor<4x8xf32>, %[[Y:.+]]: tensor<4x8xf32>)
// CHECK: %[[S:.+]] = tensor.extract_slice %[[Y]][1, 0] [2, 8] [1, 1]
// CHECK: "xyntra.softmax"(%[[S]])
func.func @part(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<2x8xf32>) {
  %e = tensor.empty() : tensor<8x8xf32>
  %0 = tensor.insert_slice %x into %e[0, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  %1 = tensor.insert_slice %y into %0[4, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  %s = tensor.extract_slice %1[5, 0] [2, 8] [1, 1] : tensor<8x8xf32> to tensor<2x8xf32>
  %2 = "xyntra.softmax"(%s) {axis = 1} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return %1, %2 : tensor<8x8xf32>, tensor<2x8xf32>
}

// A slice of a slice of a reshape.
// CHECK-LABEL: func.func @views(
// CHECK-SAME: %[[X:.+]]: tensor<8x6xf32>)
// CHECK: %[[S:.+]] = tensor.extract_slice %[[X]][3, 0] [2, 6] [1, 1]
// CHECK: %[[Y:.+]] = linalg.generic {{.+}} ins(%[[S]] : tensor<2x6xf32>)
// CHECK: %[[E:.+]] = tensor.expand_shape %[[Y]]
// CHECK: return %[[E]] : tensor<1x2x6xf32>
func.func @views(%x: tensor<8x6xf32>) -> tensor<1x2x6xf32> {
  %e0 = tensor.empty() : tensor<8x6xf32>
  %y = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x6xf32>) outs(%e0 : tensor<8x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<8x6xf32>
  %0 = tensor.expand_shape %y [[0, 1], [2]] output_shape [1, 8, 6] : tensor<8x6xf32> into tensor<1x8x6xf32>
  %1 = tensor.extract_slice %0[0, 2, 0] [1, 4, 6] [1, 1, 1] : tensor<1x8x6xf32> to tensor<1x4x6xf32>
  %2 = tensor.extract_slice %1[0, 1, 0] [1, 2, 6] [1, 1, 1] : tensor<1x4x6xf32> to tensor<1x2x6xf32>
  return %2 : tensor<1x2x6xf32>
}
