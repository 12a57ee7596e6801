// RUN: %xyntra-opt %s --merge-contractions --check-fusion | FileCheck %s
// RUN: %xyntra-opt %s --merge-contractions=max-weight-bytes=1000 | FileCheck %s --check-prefix=SMALL
// RUN: %xyntra-opt %s --merge-contractions='gates=true max-elements=1' | FileCheck %s --check-prefix=GATES

#x = affine_map<(d0, d1, d2) -> (d0, d2)>
#w = affine_map<(d0, d1, d2) -> (d2, d1)>
#wt = affine_map<(d0, d1, d2) -> (d1, d2)>
#y = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#b = affine_map<(d0, d1) -> (d1)>

// Weights and biases are put together once, in one region; the readers get slices.
// CHECK-LABEL: func.func @query_key_value(
// CHECK-SAME: %[[X:.+]]: tensor<4x8xf32>, %[[WQ:[^:]+]]: {{[^%]+}}, %[[WK:[^:]+]]: {{[^%]+}}, %[[WV:[^:]+]]: {{[^%]+}}, %[[BQ:[^:]+]]: {{[^%]+}}, %[[BK:[^:]+]]: {{[^%]+}}, %[[BV:[^:]+]]:
// CHECK: %[[P:.+]]:2 = "xyntra.fused"() ({
// CHECK: %[[W1:.+]] = tensor.insert_slice %[[WQ]] into %{{.+}}[0, 0] [8, 16] [1, 1]
// CHECK: %[[W2:.+]] = tensor.insert_slice %[[WK]] into %[[W1]][0, 16] [8, 16] [1, 1]
// CHECK: %[[W3:.+]] = tensor.insert_slice %[[WV]] into %[[W2]][0, 32] [8, 32] [1, 1] : tensor<8x32xf32> into tensor<8x64xf32>
// CHECK: %[[B1:.+]] = tensor.insert_slice %[[BQ]] into %{{.+}}[0] [16] [1]
// CHECK: %[[B2:.+]] = tensor.insert_slice %[[BK]] into %[[B1]][16] [16] [1]
// CHECK: %[[B3:.+]] = tensor.insert_slice %[[BV]] into %[[B2]][32] [32] [1]
// CHECK: "xyntra.yield"(%[[W3]], %[[B3]])
// CHECK: kind = "data"
// CHECK: %[[ZERO:.+]] = linalg.fill {{.+}} -> tensor<4x64xf32>
// CHECK: %[[Y:.+]] = linalg.generic {{.+}} ins(%[[X]], %[[P]]#0 : tensor<4x8xf32>, tensor<8x64xf32>) outs(%[[ZERO]] :
// CHECK: %[[S:.+]] = linalg.generic {{.+}} ins(%[[Y]], %[[P]]#1 : tensor<4x64xf32>, tensor<64xf32>)
// CHECK: %[[Q:.+]] = tensor.extract_slice %[[S]][0, 0] [4, 16] [1, 1]
// CHECK: %[[K:.+]] = tensor.extract_slice %[[S]][0, 16] [4, 16] [1, 1]
// CHECK: %[[V:.+]] = tensor.extract_slice %[[S]][0, 32] [4, 32] [1, 1]
// CHECK-NOT: linalg.generic
// CHECK: "xyntra.silu"(%[[Q]])
// CHECK: "xyntra.silu"(%[[K]])
// CHECK: "xyntra.silu"(%[[V]])
// Beyond the limit for weights nothing changes.
// SMALL-LABEL: func.func @query_key_value
// SMALL-NOT: xyntra.fused
// SMALL: return
func.func @query_key_value(%x: tensor<4x8xf32>, %wq: tensor<8x16xf32> {xyntra.parameter = "wq"}, %wk: tensor<8x16xf32> {xyntra.parameter = "wk"}, %wv: tensor<8x32xf32> {xyntra.parameter = "wv"}, %bq: tensor<16xf32> {xyntra.parameter = "bq"}, %bk: tensor<16xf32> {xyntra.parameter = "bk"}, %bv: tensor<32xf32> {xyntra.parameter = "bv"}) -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_q = tensor.empty() : tensor<4x16xf32>
  %i_q = linalg.fill ins(%zero : f32) outs(%e_q : tensor<4x16xf32>) -> tensor<4x16xf32>
  %q = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wq : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_q : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %f_qb = tensor.empty() : tensor<4x16xf32>
  %qb = linalg.generic {indexing_maps = [#id, #b, #id], iterator_types = ["parallel", "parallel"]}
      ins(%q, %bq : tensor<4x16xf32>, tensor<16xf32>) outs(%f_qb : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %sum = arith.addf %lhs, %rhs : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %qs = "xyntra.silu"(%qb) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %e_k = tensor.empty() : tensor<4x16xf32>
  %i_k = linalg.fill ins(%zero : f32) outs(%e_k : tensor<4x16xf32>) -> tensor<4x16xf32>
  %k = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wk : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_k : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %f_kb = tensor.empty() : tensor<4x16xf32>
  %kb = linalg.generic {indexing_maps = [#id, #b, #id], iterator_types = ["parallel", "parallel"]}
      ins(%k, %bk : tensor<4x16xf32>, tensor<16xf32>) outs(%f_kb : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %sum = arith.addf %lhs, %rhs : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %ks = "xyntra.silu"(%kb) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %e_v = tensor.empty() : tensor<4x32xf32>
  %i_v = linalg.fill ins(%zero : f32) outs(%e_v : tensor<4x32xf32>) -> tensor<4x32xf32>
  %v = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wv : tensor<4x8xf32>, tensor<8x32xf32>) outs(%i_v : tensor<4x32xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x32xf32>
  %f_vb = tensor.empty() : tensor<4x32xf32>
  %vb = linalg.generic {indexing_maps = [#id, #b, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v, %bv : tensor<4x32xf32>, tensor<32xf32>) outs(%f_vb : tensor<4x32xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %sum = arith.addf %lhs, %rhs : f32
    linalg.yield %sum : f32
  } -> tensor<4x32xf32>
  %vs = "xyntra.silu"(%vb) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  return %qs, %ks, %vs : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x32xf32>
}

// Weights stored with a row for each column of the result, and constants among them; a sibling without a bias keeps the
// others' additions behind the slices. What computes the second weight moves up.
// CHECK-LABEL: func.func @stored_by_columns(
// CHECK-SAME: %[[X:.+]]: tensor<4x2xf32>, %[[A:[^:]+]]: {{[^%]+}}, %[[R:[^:]+]]: tensor<16xf32>
// CHECK: %[[C:.+]] = arith.constant dense<{{.+}}> : tensor<3x2xf32>
// CHECK: %[[W:.+]] = "xyntra.fused"() ({
// CHECK: tensor.insert_slice %[[A]] into %{{.+}}[0, 0] [16, 2] [1, 1]
// CHECK: tensor.insert_slice %[[C]] into %{{.+}}[16, 0] [3, 2] [1, 1] : tensor<3x2xf32> into tensor<19x2xf32>
// CHECK: %[[Y:.+]] = linalg.generic {{.+}} ins(%[[X]], %[[W]] :
// CHECK: %[[P:.+]] = tensor.extract_slice %[[Y]][0, 0] [4, 16] [1, 1]
// CHECK: %[[Q:.+]] = tensor.extract_slice %[[Y]][0, 16] [4, 3] [1, 1]
// CHECK: linalg.generic {{.+}} ins(%[[P]], %[[R]] :
// CHECK: "xyntra.silu"(%[[Q]])
func.func @stored_by_columns(%x: tensor<4x2xf32>, %a: tensor<16x2xf32> {xyntra.parameter = "a"}, %r: tensor<16xf32> {xyntra.parameter = "r"}) -> (tensor<4x16xf32>, tensor<4x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_p = tensor.empty() : tensor<4x16xf32>
  %i_p = linalg.fill ins(%zero : f32) outs(%e_p : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.generic {indexing_maps = [#x, #wt, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %a : tensor<4x2xf32>, tensor<16x2xf32>) outs(%i_p : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %f_pb = tensor.empty() : tensor<4x16xf32>
  %pb = linalg.generic {indexing_maps = [#id, #b, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %r : tensor<4x16xf32>, tensor<16xf32>) outs(%f_pb : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %sum = arith.addf %lhs, %rhs : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %ps = "xyntra.silu"(%pb) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %c = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %e_q = tensor.empty() : tensor<4x3xf32>
  %i_q = linalg.fill ins(%zero : f32) outs(%e_q : tensor<4x3xf32>) -> tensor<4x3xf32>
  %q = linalg.generic {indexing_maps = [#x, #wt, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %c : tensor<4x2xf32>, tensor<3x2xf32>) outs(%i_q : tensor<4x3xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x3xf32>
  %qs = "xyntra.silu"(%q) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return %ps, %qs : tensor<4x16xf32>, tensor<4x3xf32>
}

// Weights that are parts of one are taken out of it in the region that puts them together.
// CHECK-LABEL: func.func @parts_of_one
// CHECK: "xyntra.fused"() ({
// CHECK-DAG: tensor.extract_slice %arg1[0, 0, 0] [1, 8, 16]
// CHECK-DAG: tensor.extract_slice %arg1[1, 0, 0] [1, 8, 16]
// CHECK: tensor.insert_slice
// CHECK: tensor.insert_slice
// CHECK: kind = "data"
// CHECK: outs({{.+}} : tensor<4x32xf32>)
// CHECK-NOT: tensor.extract_slice %arg1
// CHECK: return
func.func @parts_of_one(%x: tensor<4x8xf32>, %w: tensor<2x8x16xf32> {xyntra.parameter = "w"}) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x16xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = tensor.extract_slice %w[0, 0, 0] [1, 8, 16] [1, 1, 1] : tensor<2x8x16xf32> to tensor<1x8x16xf32>
  %wp = tensor.collapse_shape %p [[0, 1], [2]] : tensor<1x8x16xf32> into tensor<8x16xf32>
  %q = tensor.extract_slice %w[1, 0, 0] [1, 8, 16] [1, 1, 1] : tensor<2x8x16xf32> to tensor<1x8x16xf32>
  %wq = tensor.collapse_shape %q [[0, 1], [2]] : tensor<1x8x16xf32> into tensor<8x16xf32>
  %0 = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wp : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %1 = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wq : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %2 = "xyntra.silu"(%0) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %3 = "xyntra.silu"(%1) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %2, %3 : tensor<4x16xf32>, tensor<4x16xf32>
}

// A gate and what it multiplies, beside a third contraction that is too large to be worth merging.
// GATES-LABEL: func.func @gated
// GATES: "xyntra.fused"() ({
// GATES: tensor.insert_slice %arg1 into
// GATES: tensor.insert_slice %arg3 into
// GATES: -> tensor<4x32xf32>
// GATES: tensor.extract_slice %{{.+}}[0, 0] [4, 16] [1, 1]
// GATES: tensor.extract_slice %{{.+}}[0, 16] [4, 16] [1, 1]
// GATES: ins(%arg0, %arg2 : tensor<4x8xf32>, tensor<8x16xf32>)
func.func @gated(%x: tensor<4x8xf32>, %u: tensor<8x16xf32> {xyntra.parameter = "u"}, %v: tensor<8x16xf32> {xyntra.parameter = "v"}, %w: tensor<8x16xf32> {xyntra.parameter = "w"}) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_g = tensor.empty() : tensor<4x16xf32>
  %i_g = linalg.fill ins(%zero : f32) outs(%e_g : tensor<4x16xf32>) -> tensor<4x16xf32>
  %g = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %u : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_g : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %e_o = tensor.empty() : tensor<4x16xf32>
  %i_o = linalg.fill ins(%zero : f32) outs(%e_o : tensor<4x16xf32>) -> tensor<4x16xf32>
  %o = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_o : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %e_p = tensor.empty() : tensor<4x16xf32>
  %i_p = linalg.fill ins(%zero : f32) outs(%e_p : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_p : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g, %g : tensor<4x16xf32>, tensor<4x16xf32>) outs(%e_g : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    linalg.yield %prod : f32
  } -> tensor<4x16xf32>
  %m = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %p : tensor<4x16xf32>, tensor<4x16xf32>) outs(%e_g : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    linalg.yield %prod : f32
  } -> tensor<4x16xf32>
  return %m, %o : tensor<4x16xf32>, tensor<4x16xf32>
}

// Three that meet, as gates of a recurrent network do, are no pair.
// GATES-LABEL: func.func @three_meet
// GATES-NOT: "xyntra.fused"
// GATES: return
func.func @three_meet(%x: tensor<4x8xf32>, %u: tensor<8x16xf32> {xyntra.parameter = "u"}, %v: tensor<8x16xf32> {xyntra.parameter = "v"}, %w: tensor<8x16xf32> {xyntra.parameter = "w"}) -> tensor<4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e_g = tensor.empty() : tensor<4x16xf32>
  %i_g = linalg.fill ins(%zero : f32) outs(%e_g : tensor<4x16xf32>) -> tensor<4x16xf32>
  %g = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %u : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_g : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %e_o = tensor.empty() : tensor<4x16xf32>
  %i_o = linalg.fill ins(%zero : f32) outs(%e_o : tensor<4x16xf32>) -> tensor<4x16xf32>
  %o = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_o : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %e_p = tensor.empty() : tensor<4x16xf32>
  %i_p = linalg.fill ins(%zero : f32) outs(%e_p : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_p : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g, %o : tensor<4x16xf32>, tensor<4x16xf32>) outs(%e_g : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    linalg.yield %prod : f32
  } -> tensor<4x16xf32>
  %m = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %p : tensor<4x16xf32>, tensor<4x16xf32>) outs(%e_g : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    linalg.yield %prod : f32
  } -> tensor<4x16xf32>
  return %m : tensor<4x16xf32>
}
