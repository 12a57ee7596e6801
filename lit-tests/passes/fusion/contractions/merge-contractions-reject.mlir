// RUN: %xyntra-opt %s --merge-contractions=max-elements=64 | FileCheck %s

// CHECK-LABEL: func.func @operands
// CHECK-NOT: xyntra.fused
// CHECK-NOT: tensor.extract_slice
// CHECK-NOT: tensor.insert_slice
// CHECK: func.func @rows
// CHECK-NOT: xyntra.fused
// CHECK-NOT: tensor.extract_slice

#x = affine_map<(d0, d1, d2) -> (d0, d2)>
#w = affine_map<(d0, d1, d2) -> (d2, d1)>
#wt = affine_map<(d0, d1, d2) -> (d1, d2)>
#y = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#b = affine_map<(d0, d1) -> (d1)>

// Different tensors.
func.func @operands(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %u: tensor<8x16xf32> {xyntra.parameter = "u"}, %v: tensor<8x16xf32> {xyntra.parameter = "v"}) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_a = tensor.empty() : tensor<4x16xf32>
  %i_a = linalg.fill ins(%zero : f32) outs(%e_a : tensor<4x16xf32>) -> tensor<4x16xf32>
  %a = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %u : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_a : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %e_b = tensor.empty() : tensor<4x16xf32>
  %i_b = linalg.fill ins(%zero : f32) outs(%e_b : tensor<4x16xf32>) -> tensor<4x16xf32>
  %b = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%y, %v : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_b : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %as = "xyntra.silu"(%a) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %bs = "xyntra.silu"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %as, %bs : tensor<4x16xf32>, tensor<4x16xf32>
}

// A weight that is an input: putting it behind the other would have to be done at every call.
func.func @dynamic_weight(%x: tensor<4x8xf32>, %u: tensor<8x16xf32> {xyntra.parameter = "u"}, %v: tensor<8x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_a = tensor.empty() : tensor<4x16xf32>
  %i_a = linalg.fill ins(%zero : f32) outs(%e_a : tensor<4x16xf32>) -> tensor<4x16xf32>
  %a = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %u : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_a : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %e_b = tensor.empty() : tensor<4x16xf32>
  %i_b = linalg.fill ins(%zero : f32) outs(%e_b : tensor<4x16xf32>) -> tensor<4x16xf32>
  %b = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_b : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %as = "xyntra.silu"(%a) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %bs = "xyntra.silu"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %as, %bs : tensor<4x16xf32>, tensor<4x16xf32>
}

// A weight that is computed from an input.
func.func @computed_weight(%x: tensor<4x8xf32>, %u: tensor<8x16xf32> {xyntra.parameter = "u"}, %v: tensor<8x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %w = "xyntra.silu"(%v) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %e_a = tensor.empty() : tensor<4x16xf32>
  %i_a = linalg.fill ins(%zero : f32) outs(%e_a : tensor<4x16xf32>) -> tensor<4x16xf32>
  %a = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %u : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_a : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %e_b = tensor.empty() : tensor<4x16xf32>
  %i_b = linalg.fill ins(%zero : f32) outs(%e_b : tensor<4x16xf32>) -> tensor<4x16xf32>
  %b = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_b : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %as = "xyntra.silu"(%a) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %bs = "xyntra.silu"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %as, %bs : tensor<4x16xf32>, tensor<4x16xf32>
}

// Weights that are stored in different ways.
func.func @layouts(%x: tensor<4x8xf32>, %u: tensor<8x16xf32> {xyntra.parameter = "u"}, %v: tensor<16x8xf32> {xyntra.parameter = "v"}) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_a = tensor.empty() : tensor<4x16xf32>
  %i_a = linalg.fill ins(%zero : f32) outs(%e_a : tensor<4x16xf32>) -> tensor<4x16xf32>
  %a = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %u : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_a : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %e_b = tensor.empty() : tensor<4x16xf32>
  %i_b = linalg.fill ins(%zero : f32) outs(%e_b : tensor<4x16xf32>) -> tensor<4x16xf32>
  %b = linalg.generic {indexing_maps = [#x, #wt, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<4x8xf32>, tensor<16x8xf32>) outs(%i_b : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %as = "xyntra.silu"(%a) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %bs = "xyntra.silu"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %as, %bs : tensor<4x16xf32>, tensor<4x16xf32>
}

// Only one of the results is small enough to be worth it.
func.func @large(%x: tensor<4x8xf32>, %u: tensor<8x16xf32> {xyntra.parameter = "u"}, %v: tensor<8x32xf32> {xyntra.parameter = "v"}) -> (tensor<4x16xf32>, tensor<4x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_a = tensor.empty() : tensor<4x16xf32>
  %i_a = linalg.fill ins(%zero : f32) outs(%e_a : tensor<4x16xf32>) -> tensor<4x16xf32>
  %a = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %u : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_a : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %e_b = tensor.empty() : tensor<4x32xf32>
  %i_b = linalg.fill ins(%zero : f32) outs(%e_b : tensor<4x32xf32>) -> tensor<4x32xf32>
  %b = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<4x8xf32>, tensor<8x32xf32>) outs(%i_b : tensor<4x32xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x32xf32>
  %as = "xyntra.silu"(%a) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %bs = "xyntra.silu"(%b) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  return %as, %bs : tensor<4x16xf32>, tensor<4x32xf32>
}

// Sums that start from different numbers.
func.func @starts(%x: tensor<4x8xf32>, %u: tensor<8x16xf32> {xyntra.parameter = "u"}, %v: tensor<8x16xf32> {xyntra.parameter = "v"}) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_a = tensor.empty() : tensor<4x16xf32>
  %i_a = linalg.fill ins(%zero : f32) outs(%e_a : tensor<4x16xf32>) -> tensor<4x16xf32>
  %a = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %u : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_a : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %one = arith.constant 1.0 : f32
  %e_b = tensor.empty() : tensor<4x16xf32>
  %i_b = linalg.fill ins(%one : f32) outs(%e_b : tensor<4x16xf32>) -> tensor<4x16xf32>
  %b = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_b : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %as = "xyntra.silu"(%a) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %bs = "xyntra.silu"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %as, %bs : tensor<4x16xf32>, tensor<4x16xf32>
}

// A sum that starts from a tensor.
func.func @accumulated(%x: tensor<4x8xf32>, %u: tensor<8x16xf32> {xyntra.parameter = "u"}, %v: tensor<8x16xf32> {xyntra.parameter = "v"}, %t: tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_a = tensor.empty() : tensor<4x16xf32>
  %i_a = linalg.fill ins(%zero : f32) outs(%e_a : tensor<4x16xf32>) -> tensor<4x16xf32>
  %a = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %u : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_a : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %e_b = tensor.empty() : tensor<4x16xf32>
  %i_b = linalg.fill ins(%zero : f32) outs(%e_b : tensor<4x16xf32>) -> tensor<4x16xf32>
  %b = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<4x8xf32>, tensor<8x16xf32>) outs(%t : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %as = "xyntra.silu"(%a) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %bs = "xyntra.silu"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %as, %bs : tensor<4x16xf32>, tensor<4x16xf32>
}

// Products of scaled elements and of plain ones.
func.func @bodies(%x: tensor<4x8xf32>, %u: tensor<8x16xf32> {xyntra.parameter = "u"}, %v: tensor<8x16xf32> {xyntra.parameter = "v"}) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_a = tensor.empty() : tensor<4x16xf32>
  %i_a = linalg.fill ins(%zero : f32) outs(%e_a : tensor<4x16xf32>) -> tensor<4x16xf32>
  %a = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %u : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_a : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %e_b = tensor.empty() : tensor<4x16xf32>
  %i_b = linalg.fill ins(%zero : f32) outs(%e_b : tensor<4x16xf32>) -> tensor<4x16xf32>
  %b = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_b : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %square = arith.mulf %lhs, %lhs : f32
    %prod = arith.mulf %square, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %as = "xyntra.silu"(%a) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %bs = "xyntra.silu"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %as, %bs : tensor<4x16xf32>, tensor<4x16xf32>
}

// Results of the function have buffers of their own.
func.func @returned(%x: tensor<4x8xf32>, %u: tensor<8x16xf32> {xyntra.parameter = "u"}, %v: tensor<8x16xf32> {xyntra.parameter = "v"}) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_a = tensor.empty() : tensor<4x16xf32>
  %i_a = linalg.fill ins(%zero : f32) outs(%e_a : tensor<4x16xf32>) -> tensor<4x16xf32>
  %a = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %u : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_a : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %e_b = tensor.empty() : tensor<4x16xf32>
  %i_b = linalg.fill ins(%zero : f32) outs(%e_b : tensor<4x16xf32>) -> tensor<4x16xf32>
  %b = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_b : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  return %a, %b : tensor<4x16xf32>, tensor<4x16xf32>
}

// One contraction has no sibling.
func.func @alone(%x: tensor<4x8xf32>, %u: tensor<8x16xf32> {xyntra.parameter = "u"}) -> (tensor<4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_a = tensor.empty() : tensor<4x16xf32>
  %i_a = linalg.fill ins(%zero : f32) outs(%e_a : tensor<4x16xf32>) -> tensor<4x16xf32>
  %a = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %u : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_a : tensor<4x16xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %as = "xyntra.silu"(%a) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %as : tensor<4x16xf32>
}

// The last dimension of the result is not the weight's.
func.func @rows(%x: tensor<4x8xf32>, %u: tensor<8x16xf32> {xyntra.parameter = "u"}, %v: tensor<8x16xf32> {xyntra.parameter = "v"}) -> (tensor<16x4xf32>, tensor<16x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_a = tensor.empty() : tensor<16x4xf32>
  %i_a = linalg.fill ins(%zero : f32) outs(%e_a : tensor<16x4xf32>) -> tensor<16x4xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d2, d0)>, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %u : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_a : tensor<16x4xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<16x4xf32>
  %e_b = tensor.empty() : tensor<16x4xf32>
  %i_b = linalg.fill ins(%zero : f32) outs(%e_b : tensor<16x4xf32>) -> tensor<16x4xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d2, d0)>, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i_b : tensor<16x4xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<16x4xf32>
  %as = "xyntra.silu"(%a) : (tensor<16x4xf32>) -> tensor<16x4xf32>
  %bs = "xyntra.silu"(%b) : (tensor<16x4xf32>) -> tensor<16x4xf32>
  return %as, %bs : tensor<16x4xf32>, tensor<16x4xf32>
}
