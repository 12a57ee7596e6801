// RUN: %xyntra-opt %s --merge-elementwise --canonicalize | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>

// The intermediate value stays a scalar of the one loop nest.
// CHECK-LABEL: func.func private @kernel(
// CHECK-SAME: %[[X:.+]]: tensor<4x8xf32>, %[[B:.+]]: tensor<8xf32>)
// CHECK: %[[R:.+]]:2 = linalg.generic {{.+}} ins(%[[X]], %[[B]] :
// CHECK: %[[S:.+]] = arith.addf
// CHECK: %[[E:.+]] = math.exp %[[S]]
// CHECK: linalg.yield %[[S]], %[[E]]
// CHECK-NOT: linalg.generic
// CHECK: return %[[R]]#0, %[[R]]#1
func.func private @kernel(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    attributes {xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<4x8xf32>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Behind a product, too: one nest reads its result, and the reshape between them disappears.
// CHECK-LABEL: func.func private @behind_a_product(
// CHECK: [[P:%.+]] = linalg.generic {{.+}}"reduction"]
// CHECK: [[R:%.+]] = linalg.generic {{.+}}"parallel"]} ins([[P]], {{.+}} : tensor<4x6xf32>, tensor<6xf32>) outs({{.+}} : tensor<1x4x2x3xf32>)
// CHECK: arith.addf
// CHECK: math.absf
// CHECK-NOT: linalg.generic
// CHECK-NOT: reshape
// CHECK: return [[R]]
func.func private @behind_a_product(%x: tensor<4x8xf32>, %y: tensor<8x6xf32>, %v: tensor<6xf32>)
    -> tensor<1x4x2x3xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "contraction"}>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<4x8xf32>, tensor<8x6xf32>) outs(%f : tensor<4x6xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %v : tensor<4x6xf32>, tensor<6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %s = arith.addf %l, %r : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  %1 = tensor.expand_shape %0 [[0, 1], [2, 3]] output_shape [1, 4, 2, 3] : tensor<4x6xf32> into tensor<1x4x2x3xf32>
  %e1 = tensor.empty() : tensor<1x4x2x3xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>,
      affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%1 : tensor<1x4x2x3xf32>) outs(%e1 : tensor<1x4x2x3xf32>) {
  ^bb0(%l: f32, %o: f32):
    %s = math.absf %l : f32
    linalg.yield %s : f32
  } -> tensor<1x4x2x3xf32>
  return %2 : tensor<1x4x2x3xf32>
}

// Readers of one tensor share the loop over it.
// CHECK-LABEL: func.func private @siblings(
// CHECK: linalg.generic
// CHECK: linalg.yield {{%.+}}, {{%.+}} : f32, f32
// CHECK-NOT: linalg.generic
// CHECK: return
func.func private @siblings(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    attributes {xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.absf %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}
