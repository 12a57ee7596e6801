// RUN: %xyntra-opt %s --fold-transposes | FileCheck %s

#id2 = affine_map<(d0, d1) -> (d0, d1)>
#t2 = affine_map<(d0, d1) -> (d1, d0)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#t021 = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
#t102 = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#m = affine_map<(d0, d1, d2) -> (d0, d2)>
#n = affine_map<(d0, d1, d2) -> (d2, d1)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>

// A contraction reads a transposed weight through its map.
// CHECK-DAG: #[[M:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[N:.+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: func.func @weight(
// CHECK-SAME: %[[X:.+]]: tensor<4x8xf32>, %[[W:.+]]: tensor<6x8xf32>)
// CHECK: linalg.generic {indexing_maps = [#[[M]], #[[N]], #{{.+}}], {{.+}}} ins(%[[X]], %[[W]] : tensor<4x8xf32>, tensor<6x8xf32>)
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @weight(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>) -> tensor<4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x6xf32>
  %t = linalg.generic {indexing_maps = [#t2, #id2], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<6x8xf32>) outs(%e0 : tensor<8x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x6xf32>
  %e1 = tensor.empty() : tensor<4x6xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.generic {indexing_maps = [#m, #n, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %t : tensor<4x8xf32>, tensor<8x6xf32>) outs(%f1 : tensor<4x6xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %p = arith.mulf %in, %in_1 : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// Heads are put back beside each other: the contraction in front writes that order.
// CHECK-LABEL: func.func @heads(
// CHECK: %[[F:.+]] = linalg.fill ins(%{{.+}}) outs(%{{.+}} : tensor<4x2x8xf32>)
// CHECK: %[[Y:.+]] = linalg.generic {{.+}} outs(%[[F]] : tensor<4x2x8xf32>)
// CHECK: %[[C:.+]] = tensor.collapse_shape %[[Y]] {{\[\[}}0], [1, 2]] : tensor<4x2x8xf32> into tensor<4x16xf32>
// CHECK: return %[[C]]
func.func @heads(%x: tensor<2x4x6xf32>, %w: tensor<2x6x8xf32>) -> tensor<4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %y = linalg.generic {
    indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %w : tensor<2x4x6xf32>, tensor<2x6x8xf32>) outs(%f : tensor<2x4x8xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %p = arith.mulf %in, %in_1 : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x4x8xf32>
  %e0 = tensor.empty() : tensor<4x2x8xf32>
  %t = linalg.generic {indexing_maps = [#t102, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%y : tensor<2x4x8xf32>) outs(%e0 : tensor<4x2x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x2x8xf32>
  %c = tensor.collapse_shape %t [[0], [1, 2]] : tensor<4x2x8xf32> into tensor<4x16xf32>
  return %c : tensor<4x16xf32>
}

// A transpose passes reshapes and an elementwise operation on its way to a contraction.
// CHECK-LABEL: func.func @passes(
// CHECK-SAME: %[[X:.+]]: tensor<4x8xf32>, %{{.+}}: tensor<4x6xf32>)
// CHECK: %[[E:.+]] = linalg.generic {indexing_maps = [#[[I:.+]], #[[I]]], {{.+}} ins(%[[X]] : tensor<4x8xf32>)
// CHECK: linalg.generic {{.+}} ins(%[[E]], %{{.+}} : tensor<4x8xf32>, tensor<4x6xf32>)
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @passes(%x: tensor<4x8xf32>, %w: tensor<4x6xf32>) -> tensor<8x6xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, 4, 8] : tensor<4x8xf32> into tensor<1x4x8xf32>
  %e0 = tensor.empty() : tensor<1x8x4xf32>
  %1 = linalg.generic {indexing_maps = [#t021, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%0 : tensor<1x4x8xf32>) outs(%e0 : tensor<1x8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x8x4xf32>
  %2 = tensor.collapse_shape %1 [[0, 1], [2]] : tensor<1x8x4xf32> into tensor<8x4xf32>
  %e1 = tensor.empty() : tensor<8x4xf32>
  %3 = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<8x4xf32>) outs(%e1 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  %e2 = tensor.empty() : tensor<8x6xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x6xf32>) -> tensor<8x6xf32>
  %y = linalg.generic {indexing_maps = [#m, #n, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%3, %w : tensor<8x4xf32>, tensor<4x6xf32>) outs(%f2 : tensor<8x6xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %p = arith.mulf %in, %in_1 : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}

// Two transposes cancel.
// CHECK-LABEL: func.func @cancel(
// CHECK-SAME: %[[X:.+]]: tensor<4x8xf32>)
// CHECK-NEXT: %[[S:.+]] = "xyntra.softmax"(%[[X]])
// CHECK-NEXT: return %[[S]]
func.func @cancel(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e0 = tensor.empty() : tensor<8x4xf32>
  %t = linalg.generic {indexing_maps = [#t2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e0 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x4xf32>
  %e1 = tensor.empty() : tensor<4x8xf32>
  %u = linalg.generic {indexing_maps = [#t2, #id2], iterator_types = ["parallel", "parallel"]} ins(%t : tensor<8x4xf32>) outs(%e1 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x8xf32>
  %0 = "xyntra.softmax"(%u) {axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// A slice of a transposed tensor is one of the tensor.
// CHECK-LABEL: func.func @slice(
// CHECK-SAME: %[[X:.+]]: tensor<8x12xf32>,
// CHECK: %[[S:.+]] = tensor.extract_slice %[[X]][0, 4] [8, 4] [1, 1]
// CHECK: linalg.generic {{.+}} ins(%[[S]], %{{.+}} : tensor<8x4xf32>, tensor<8x6xf32>)
// CHECK-NOT: linalg.generic
func.func @slice(%x: tensor<8x12xf32>, %w: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<12x8xf32>
  %t = linalg.generic {indexing_maps = [#t2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x12xf32>) outs(%e0 : tensor<12x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<12x8xf32>
  %0 = tensor.extract_slice %t[4, 0] [4, 8] [1, 1] : tensor<12x8xf32> to tensor<4x8xf32>
  %e1 = tensor.empty() : tensor<4x6xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.generic {indexing_maps = [#m, #n, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%0, %w : tensor<4x8xf32>, tensor<8x6xf32>) outs(%f1 : tensor<4x6xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %p = arith.mulf %in, %in_1 : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// A row op cannot read another order: the elementwise operations in front compute in it.
// CHECK-LABEL: func.func @row(
// CHECK: %[[Y:.+]] = linalg.generic {{.+}} outs(%{{.+}} : tensor<8x4xf32>)
// CHECK: %[[E:.+]] = linalg.generic {{.+}} ins(%[[Y]] : tensor<8x4xf32>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: math.exp
// CHECK: "xyntra.softmax"(%[[E]])
func.func @row(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4x8xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#m, #n, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x6xf32>, tensor<6x8xf32>) outs(%f0 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %p = arith.mulf %in, %in_1 : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %e1 = tensor.empty() : tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<4x8xf32>) outs(%e1 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %e2 = tensor.empty() : tensor<8x4xf32>
  %t = linalg.generic {indexing_maps = [#t2, #id2], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<4x8xf32>) outs(%e2 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x4xf32>
  %0 = "xyntra.softmax"(%t) {axis = 1} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// A softmax along other than the last dimension has no rows to keep together.
// CHECK-LABEL: func.func @columns(
// CHECK: "xyntra.softmax"(%{{.+}}) {axis = 1 : i64} : (tensor<3x4x8xf32>) -> tensor<3x4x8xf32>
// CHECK-NOT: linalg.yield %in :
func.func @columns(%x: tensor<3x4x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e2 = tensor.empty() : tensor<4x3x8xf32>
  %t = linalg.generic {indexing_maps = [#t102, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<3x4x8xf32>) outs(%e2 : tensor<4x3x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x3x8xf32>
  %0 = "xyntra.softmax"(%t) {axis = 0} : (tensor<4x3x8xf32>) -> tensor<4x3x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%0 : tensor<4x3x8xf32>) outs(%f : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %out, %in : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// A broadcast copy is not made.
// CHECK-LABEL: func.func @broadcast(
// CHECK-SAME: %[[X:.+]]: tensor<4x8xf32>, %[[B:.+]]: tensor<8xf32>)
// CHECK: linalg.generic {{.+}} ins(%[[X]], %[[B]] : tensor<4x8xf32>, tensor<8xf32>)
// CHECK-NOT: linalg.generic
func.func @broadcast(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %e0 = tensor.empty() : tensor<4x8xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, #id2], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<8xf32>) outs(%e0 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x8xf32>
  %e1 = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id2, #id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x, %t : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e1 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %s = arith.addf %in, %in_1 : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// Nor is a nearest-neighbour resize that an elementwise operation reads.
// CHECK-LABEL: func.func @resize(
// CHECK-SAME: %[[X:.+]]: tensor<8x8xf32>, %[[B:.+]]: tensor<4x4xf32>)
// CHECK: linalg.generic {{.+}} ins(%[[X]], %[[B]] : tensor<8x8xf32>, tensor<4x4xf32>)
// CHECK-NOT: linalg.generic
func.func @resize(%x: tensor<8x8xf32>, %b: tensor<4x4xf32>) -> tensor<8x8xf32> {
  %e0 = tensor.empty() : tensor<8x8xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 floordiv 2, d1 floordiv 2)>, #id2], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<4x4xf32>) outs(%e0 : tensor<8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x8xf32>
  %e1 = tensor.empty() : tensor<8x8xf32>
  %y = linalg.generic {indexing_maps = [#id2, #id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x, %t : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e1 : tensor<8x8xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %s = arith.addf %in, %in_1 : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @named(
// CHECK-SAME: %[[X:.+]]: tensor<4x8xf32>, %[[Y:.+]]: tensor<8x4xf32>)
// CHECK-NOT: linalg.transpose
// CHECK: linalg.generic {{.+}} ins(%[[Y]], %[[X]] : tensor<8x4xf32>, tensor<4x8xf32>)
func.func @named(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %t = linalg.transpose ins(%x : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) permutation = [1, 0]
  %e1 = tensor.empty() : tensor<8x4xf32>
  %z = linalg.generic {indexing_maps = [#id2, #id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%y, %t : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e1 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %s = arith.addf %in, %in_1 : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  return %z : tensor<8x4xf32>
}

// Attention reads and writes through maps, too.
// CHECK-LABEL: func.func @attention(
// CHECK-SAME: %[[Q:.+]]: tensor<8x2x4xf32>, %[[K:.+]]: tensor<2x8x4xf32>)
// CHECK: %[[A:.+]] = "xyntra.attention"(%[[Q]], %[[K]], %[[K]]) {{.+}} : (tensor<8x2x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<8x2x4xf32>
// CHECK-NEXT: %[[C:.+]] = tensor.collapse_shape %[[A]] {{\[\[}}0], [1, 2]]
// CHECK-NEXT: return %[[C]]
func.func @attention(%q: tensor<8x2x4xf32>, %k: tensor<2x8x4xf32>) -> tensor<8x8xf32> {
  %e0 = tensor.empty() : tensor<2x8x4xf32>
  %t = linalg.generic {indexing_maps = [#t102, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q : tensor<8x2x4xf32>) outs(%e0 : tensor<2x8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x8x4xf32>
  %a = "xyntra.attention"(%t, %k, %k) {
    causal = false, masked_rows = "nan", scale = 0.5 : f32, sizes = array<i64: 1, 2, 8, 8, 4, 4>,
    indexing_maps = [
      affine_map<(b, h, s, t, d, e) -> (h, s, d)>, affine_map<(b, h, s, t, d, e) -> (h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (h, t, e)>, affine_map<(b, h, s, t, d, e) -> (h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>
  } : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %e1 = tensor.empty() : tensor<8x2x4xf32>
  %u = linalg.generic {indexing_maps = [#t102, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : tensor<2x8x4xf32>) outs(%e1 : tensor<8x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x2x4xf32>
  %c = tensor.collapse_shape %u [[0], [1, 2]] : tensor<8x2x4xf32> into tensor<8x8xf32>
  return %c : tensor<8x8xf32>
}

// -----

// A copy in the order that there is, such as of an image whose channels were innermost before they
// were stored so.

// CHECK-LABEL: func.func @unchanged
// CHECK-SAME: %[[X:.+]]: tensor<4x8xf32>
// CHECK-NOT: linalg.yield %in
// CHECK: linalg.generic {{.+}} ins(%[[X]] : tensor<4x8xf32>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.addf
func.func @unchanged(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// A transpose of dimensions of one element alone, before a reshape.

// CHECK-LABEL: func.func @units
// CHECK-SAME: %[[W:.+]]: tensor<4x1x1x8xf32>
// CHECK-NEXT: %[[C:.+]] = tensor.collapse_shape %[[W]]
// CHECK-NEXT: return %[[C]]
func.func @units(%w: tensor<4x1x1x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8x1x1xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j, k, l) -> (i, k, l, j)>, affine_map<(i, j, k, l) -> (i, j, k, l)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%w : tensor<4x1x1x8xf32>) outs(%e : tensor<4x8x1x1xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<4x8x1x1xf32>
  %c = tensor.collapse_shape %t [[0], [1, 2, 3]] : tensor<4x8x1x1xf32> into tensor<4x8xf32>
  return %c : tensor<4x8xf32>
}

// -----

// What a body indexes keeps the order in which it is indexed: the product may store another one, and
// is copied for the body where it does.

// CHECK-LABEL: func.func @indexed
// CHECK: linalg.generic {{.+}} ins(%{{.+}}, %{{.+}} : tensor<2x3x4xf32>, tensor<2x5x4xf32>)
// CHECK: %[[FLAT:.+]] = tensor.collapse_shape %{{.+}} {{\[\[}}0, 1], [2]] : tensor<3x5x2xf32> into tensor<15x2xf32>
// CHECK: tensor.extract %[[FLAT]][%{{.+}}, %{{.+}}] : tensor<15x2xf32>
func.func @indexed(%x: tensor<2x3x4xf32>, %y: tensor<2x5x4xf32>, %at: tensor<7xi64>) -> tensor<7x2xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x5xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, i, j, k) -> (b, i, k)>, affine_map<(b, i, j, k) -> (b, j, k)>, affine_map<(b, i, j, k) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<2x3x4xf32>, tensor<2x5x4xf32>) outs(%i : tensor<2x3x5xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x3x5xf32>
  %f = tensor.empty() : tensor<3x5x2xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j, b) -> (b, i, j)>, affine_map<(i, j, b) -> (i, j, b)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p : tensor<2x3x5xf32>) outs(%f : tensor<3x5x2xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<3x5x2xf32>
  %c = tensor.collapse_shape %t [[0, 1], [2]] : tensor<3x5x2xf32> into tensor<15x2xf32>
  %g = tensor.empty() : tensor<7x2xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, b) -> (n)>, affine_map<(n, b) -> (n, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%at : tensor<7xi64>) outs(%g : tensor<7x2xf32>) {
  ^bb0(%n: i64, %o: f32):
    %row = arith.index_cast %n : i64 to index
    %column = linalg.index 1 : index
    %v = tensor.extract %c[%row, %column] : tensor<15x2xf32>
    linalg.yield %v : f32
  } -> tensor<7x2xf32>
  return %r : tensor<7x2xf32>
}

// -----

// What follows a convolution with channels innermost keeps that order, so that it is computed with it; its result is copied.

// CHECK-LABEL: func.func @behind_a_convolution
// CHECK: %[[SUMS:.+]] = linalg.generic {{.+}} outs(%{{.+}} : tensor<1x4x5x8xf32>)
// CHECK: %[[RESULT:.+]] = linalg.generic {{.+}} ins(%[[SUMS]], %{{.+}} : tensor<1x4x5x8xf32>, tensor<8xf32>) outs(%{{.+}} : tensor<1x4x5x8xf16>)
// CHECK: %[[COPY:.+]] = linalg.generic {{.+}} ins(%[[RESULT]] : tensor<1x4x5x8xf16>) outs(%{{.+}} : tensor<1x8x4x5xf16>)
// CHECK: return %[[COPY]]
func.func @behind_a_convolution(%x: tensor<1x6x7x16xf16>, %w: tensor<8x3x3x16xf16>, %b: tensor<8xf32>) -> tensor<1x8x4x5xf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x5x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x5x8xf32>) -> tensor<1x4x5x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(n, h, w, o, c, i, j) -> (n, h + i, w + j, c)>,
      affine_map<(n, h, w, o, c, i, j) -> (o, i, j, c)>, affine_map<(n, h, w, o, c, i, j) -> (n, h, w, o)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x6x7x16xf16>, tensor<8x3x3x16xf16>) outs(%i : tensor<1x4x5x8xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %u = arith.extf %p : f16 to f32
    %v = arith.extf %q : f16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x4x5x8xf32>
  %f = tensor.empty() : tensor<1x4x5x8xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(n, h, w, o) -> (n, h, w, o)>, affine_map<(n, h, w, o) -> (o)>,
      affine_map<(n, h, w, o) -> (n, h, w, o)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %b : tensor<1x4x5x8xf32>, tensor<8xf32>) outs(%f : tensor<1x4x5x8xf16>) {
  ^bb0(%p: f32, %q: f32, %o: f16):
    %s = arith.addf %p, %q : f32
    %t = arith.truncf %s : f32 to f16
    linalg.yield %t : f16
  } -> tensor<1x4x5x8xf16>
  %g = tensor.empty() : tensor<1x8x4x5xf16>
  %t = linalg.generic {indexing_maps = [affine_map<(n, o, h, w) -> (n, h, w, o)>, affine_map<(n, o, h, w) -> (n, o, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%r : tensor<1x4x5x8xf16>) outs(%g : tensor<1x8x4x5xf16>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  } -> tensor<1x8x4x5xf16>
  return %t : tensor<1x8x4x5xf16>
}

// A body that computes where it reads (a resize, say) has its loops renamed, and reads the original.
// CHECK-LABEL: func.func @sampled(
// CHECK-SAME: %[[X:.+]]: tensor<2x6x3xf32>, %[[P:.+]]: tensor<12xi64>)
// CHECK: %[[Y:.+]] = linalg.generic {{.+}} ins(%[[P]] : tensor<12xi64>) outs(%{{.+}} : tensor<2x12x3xf32>)
// CHECK: %[[N:.+]] = linalg.index 0
// CHECK: %[[C:.+]] = linalg.index 2
// CHECK: tensor.extract %[[X]][%[[N]], %{{.+}}, %[[C]]] : tensor<2x6x3xf32>
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @sampled(%x: tensor<2x6x3xf32>, %p: tensor<12xi64>) -> tensor<2x12x3xf32> {
  %e0 = tensor.empty() : tensor<2x3x6xf32>
  %t = linalg.generic {indexing_maps = [#t021, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x6x3xf32>) outs(%e0 : tensor<2x3x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x3x6xf32>
  %e1 = tensor.empty() : tensor<2x3x12xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2)>, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%p : tensor<12xi64>) outs(%e1 : tensor<2x3x12xf32>) {
  ^bb0(%in: i64, %out: f32):
    %n = linalg.index 0 : index
    %c = linalg.index 1 : index
    %w = arith.index_cast %in : i64 to index
    %v = tensor.extract %t[%n, %c, %w] : tensor<2x3x6xf32>
    linalg.yield %v : f32
  } -> tensor<2x3x12xf32>
  %e2 = tensor.empty() : tensor<2x12x3xf32>
  %z = linalg.generic {indexing_maps = [#t021, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%y : tensor<2x3x12xf32>) outs(%e2 : tensor<2x12x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x12x3xf32>
  return %z : tensor<2x12x3xf32>
}

// A padding and an insertion between opposite transposes are done in the other order.
// CHECK-LABEL: func.func @placed(
// CHECK-SAME: %[[X:.+]]: tensor<2x6x3xf32>, %[[V:.+]]: tensor<2x8x3xf32>)
// CHECK: %[[Q:.+]] = tensor.pad %[[X]] low[0, 1, 0] high[0, 1, 0]
// CHECK: %[[I:.+]] = tensor.insert_slice %[[Q]] into %{{.+}}[0, 0, 0] [2, 8, 3] [1, 1, 1] : tensor<2x8x3xf32> into tensor<2x8x6xf32>
// CHECK: %[[J:.+]] = tensor.insert_slice %[[V]] into %[[I]][0, 0, 3] [2, 8, 3] [1, 1, 1] : tensor<2x8x3xf32> into tensor<2x8x6xf32>
// CHECK-NOT: linalg.generic
// CHECK: return %[[J]]
func.func @placed(%x: tensor<2x6x3xf32>, %v: tensor<2x8x3xf32>) -> tensor<2x8x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<2x3x6xf32>
  %t = linalg.generic {indexing_maps = [#t021, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x6x3xf32>) outs(%e0 : tensor<2x3x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x3x6xf32>
  %q = tensor.pad %t low[0, 0, 1] high[0, 0, 1] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<2x3x6xf32> to tensor<2x3x8xf32>
  %e1 = tensor.empty() : tensor<2x3x8xf32>
  %u = linalg.generic {indexing_maps = [#t021, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v : tensor<2x8x3xf32>) outs(%e1 : tensor<2x3x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x3x8xf32>
  %e2 = tensor.empty() : tensor<2x6x8xf32>
  %a = tensor.insert_slice %q into %e2[0, 0, 0] [2, 3, 8] [1, 1, 1] : tensor<2x3x8xf32> into tensor<2x6x8xf32>
  %b = tensor.insert_slice %u into %a[0, 3, 0] [2, 3, 8] [1, 1, 1] : tensor<2x3x8xf32> into tensor<2x6x8xf32>
  %e3 = tensor.empty() : tensor<2x8x6xf32>
  %z = linalg.generic {indexing_maps = [#t021, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%b : tensor<2x6x8xf32>) outs(%e3 : tensor<2x8x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x8x6xf32>
  return %z : tensor<2x8x6xf32>
}

// A body that knows its position counts by the loops as they are called now.
// CHECK-LABEL: func.func @index(
// CHECK: %[[E:.+]] = linalg.generic {{.+}} outs(%{{.+}} : tensor<8x4xf32>)
// CHECK: linalg.index 1
// CHECK-NOT: linalg.generic
// CHECK: return %[[E]]
func.func @index(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %k = arith.sitofp %j : i32 to f32
    %s = arith.addf %in, %k : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %e0 = tensor.empty() : tensor<8x4xf32>
  %t = linalg.generic {indexing_maps = [#t2, #id2], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<4x8xf32>) outs(%e0 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x4xf32>
  return %t : tensor<8x4xf32>
}

// A body that looks up neighbours reads them where they lie side by side.
// CHECK-LABEL: func.func @captured(
// CHECK-SAME: %[[X:.+]]: tensor<4x8xf32>)
// CHECK: %[[I:.+]] = linalg.index 0
// CHECK: tensor.extract %[[X]][%{{.+}}, %[[I]]] : tensor<4x8xf32>
// CHECK: return
func.func @captured(%x: tensor<4x8xf32>) -> tensor<2xf32> {
  %e0 = tensor.empty() : tensor<8x4xf32>
  %t = linalg.generic {indexing_maps = [#t2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e0 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x4xf32>
  %zero = arith.constant 0 : index
  %e = tensor.empty() : tensor<2xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<2xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %s = tensor.extract %t[%i, %zero] : tensor<8x4xf32>
    linalg.yield %s : f32
  } -> tensor<2xf32>
  return %y : tensor<2xf32>
}
