// RUN: %xyntra-opt %s --fold-batch-norm > %t
// RUN: FileCheck %s < %t
// RUN: %xyntra-opt %s > %t.before
// RUN: diff %t %t.before

#image = affine_map<(n, m, y, x, c, i, j) -> (n, c, y + i, x + j)>
#filter = affine_map<(n, m, y, x, c, i, j) -> (m, c, i, j)>
#output = affine_map<(n, m, y, x, c, i, j) -> (n, m, y, x)>
#id = affine_map<(n, m, y, x) -> (n, m, y, x)>
#channel = affine_map<(n, m, y, x) -> (m)>
#column = affine_map<(n, m, y, x) -> (x)>
#spread = affine_map<(n, m, y, x) -> (0, m, 0, 0)>
#none = affine_map<(n, m, y, x) -> ()>

// A factor that changes from call to call.
// CHECK-LABEL: func.func @dynamic_factor(
// CHECK-NOT: tensor<4x3x3x3x{{f32|f16}}>, tensor<
// CHECK: return
func.func @dynamic_factor(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32> {xyntra.parameter = "w"}, %f: tensor<4xf32>) -> (tensor<1x4x6x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_y = tensor.empty() : tensor<1x4x6x6xf32>
  %i_y = linalg.fill ins(%zero : f32) outs(%e_y : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %y = linalg.generic {indexing_maps = [#image, #filter, #output], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%i_y : tensor<1x4x6x6xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<1x4x6x6xf32>
  %o_r = tensor.empty() : tensor<1x4x6x6xf32>
  %r = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %f : tensor<1x4x6x6xf32>, tensor<4xf32>) outs(%o_r : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.mulf %in, %v0 : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  return %r : tensor<1x4x6x6xf32>
}

// Weights that are inputs would have to be scaled at every call.
// CHECK-LABEL: func.func @dynamic_weight(
// CHECK-NOT: tensor<4x3x3x3x{{f32|f16}}>, tensor<
// CHECK: return
func.func @dynamic_weight(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %f: tensor<4xf32> {xyntra.parameter = "f"}) -> (tensor<1x4x6x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_y = tensor.empty() : tensor<1x4x6x6xf32>
  %i_y = linalg.fill ins(%zero : f32) outs(%e_y : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %y = linalg.generic {indexing_maps = [#image, #filter, #output], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%i_y : tensor<1x4x6x6xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<1x4x6x6xf32>
  %o_r = tensor.empty() : tensor<1x4x6x6xf32>
  %r = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %f : tensor<1x4x6x6xf32>, tensor<4xf32>) outs(%o_r : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.mulf %in, %v0 : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  return %r : tensor<1x4x6x6xf32>
}

// The sum itself is read by others.
// CHECK-LABEL: func.func @read_twice(
// CHECK-NOT: tensor<4x3x3x3x{{f32|f16}}>, tensor<
// CHECK: return
func.func @read_twice(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32> {xyntra.parameter = "w"}, %f: tensor<4xf32> {xyntra.parameter = "f"}) -> (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_y = tensor.empty() : tensor<1x4x6x6xf32>
  %i_y = linalg.fill ins(%zero : f32) outs(%e_y : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %y = linalg.generic {indexing_maps = [#image, #filter, #output], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%i_y : tensor<1x4x6x6xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<1x4x6x6xf32>
  %o_r = tensor.empty() : tensor<1x4x6x6xf32>
  %r = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %f : tensor<1x4x6x6xf32>, tensor<4xf32>) outs(%o_r : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.mulf %in, %v0 : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  return %r, %y : tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>
}

// A factor for each column of the picture.
// CHECK-LABEL: func.func @columns(
// CHECK-NOT: tensor<4x3x3x3x{{f32|f16}}>, tensor<
// CHECK: return
func.func @columns(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32> {xyntra.parameter = "w"}, %f: tensor<6xf32> {xyntra.parameter = "f"}) -> (tensor<1x4x6x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_y = tensor.empty() : tensor<1x4x6x6xf32>
  %i_y = linalg.fill ins(%zero : f32) outs(%e_y : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %y = linalg.generic {indexing_maps = [#image, #filter, #output], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%i_y : tensor<1x4x6x6xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<1x4x6x6xf32>
  %o_r = tensor.empty() : tensor<1x4x6x6xf32>
  %r = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %f : tensor<1x4x6x6xf32>, tensor<6xf32>) outs(%o_r : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.mulf %in, %v0 : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  return %r : tensor<1x4x6x6xf32>
}

// One factor for all channels would save nothing.
// CHECK-LABEL: func.func @one_factor(
// CHECK-NOT: tensor<4x3x3x3x{{f32|f16}}>, tensor<
// CHECK: return
func.func @one_factor(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32> {xyntra.parameter = "w"}, %f: tensor<f32> {xyntra.parameter = "f"}) -> (tensor<1x4x6x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_y = tensor.empty() : tensor<1x4x6x6xf32>
  %i_y = linalg.fill ins(%zero : f32) outs(%e_y : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %y = linalg.generic {indexing_maps = [#image, #filter, #output], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%i_y : tensor<1x4x6x6xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<1x4x6x6xf32>
  %o_r = tensor.empty() : tensor<1x4x6x6xf32>
  %r = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %f : tensor<1x4x6x6xf32>, tensor<f32>) outs(%o_r : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.mulf %in, %v0 : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  return %r : tensor<1x4x6x6xf32>
}

// A bias alone.
// CHECK-LABEL: func.func @bias(
// CHECK-NOT: tensor<4x3x3x3x{{f32|f16}}>, tensor<
// CHECK: return
func.func @bias(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32> {xyntra.parameter = "w"}, %f: tensor<4xf32> {xyntra.parameter = "f"}) -> (tensor<1x4x6x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_y = tensor.empty() : tensor<1x4x6x6xf32>
  %i_y = linalg.fill ins(%zero : f32) outs(%e_y : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %y = linalg.generic {indexing_maps = [#image, #filter, #output], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%i_y : tensor<1x4x6x6xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<1x4x6x6xf32>
  %o_r = tensor.empty() : tensor<1x4x6x6xf32>
  %r = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %f : tensor<1x4x6x6xf32>, tensor<4xf32>) outs(%o_r : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.addf %in, %v0 : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  return %r : tensor<1x4x6x6xf32>
}

// What follows an activation is scaled after it.
// CHECK-LABEL: func.func @activation(
// CHECK-NOT: tensor<4x3x3x3x{{f32|f16}}>, tensor<
// CHECK: return
func.func @activation(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32> {xyntra.parameter = "w"}, %f: tensor<4xf32> {xyntra.parameter = "f"}) -> (tensor<1x4x6x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_y = tensor.empty() : tensor<1x4x6x6xf32>
  %i_y = linalg.fill ins(%zero : f32) outs(%e_y : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %y = linalg.generic {indexing_maps = [#image, #filter, #output], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%i_y : tensor<1x4x6x6xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<1x4x6x6xf32>
  %o_a = tensor.empty() : tensor<1x4x6x6xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y : tensor<1x4x6x6xf32>) outs(%o_a : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %p = arith.maximumf %in, %zero : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  %o_r = tensor.empty() : tensor<1x4x6x6xf32>
  %r = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%a, %f : tensor<1x4x6x6xf32>, tensor<4xf32>) outs(%o_r : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.mulf %in, %v0 : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  return %r : tensor<1x4x6x6xf32>
}

// A square is no scale.
// CHECK-LABEL: func.func @square(
// CHECK-NOT: tensor<4x3x3x3x{{f32|f16}}>, tensor<
// CHECK: return
func.func @square(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32> {xyntra.parameter = "w"}, %f: tensor<4xf32> {xyntra.parameter = "f"}) -> (tensor<1x4x6x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_y = tensor.empty() : tensor<1x4x6x6xf32>
  %i_y = linalg.fill ins(%zero : f32) outs(%e_y : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %y = linalg.generic {indexing_maps = [#image, #filter, #output], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%i_y : tensor<1x4x6x6xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<1x4x6x6xf32>
  %o_r = tensor.empty() : tensor<1x4x6x6xf32>
  %r = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %f : tensor<1x4x6x6xf32>, tensor<4xf32>) outs(%o_r : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %s = arith.mulf %in, %in : f32
    %p = arith.mulf %s, %v0 : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  return %r : tensor<1x4x6x6xf32>
}

// Nor is a quotient by it.
// CHECK-LABEL: func.func @quotient(
// CHECK-NOT: tensor<4x3x3x3x{{f32|f16}}>, tensor<
// CHECK: return
func.func @quotient(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32> {xyntra.parameter = "w"}, %f: tensor<4xf32> {xyntra.parameter = "f"}) -> (tensor<1x4x6x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_y = tensor.empty() : tensor<1x4x6x6xf32>
  %i_y = linalg.fill ins(%zero : f32) outs(%e_y : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %y = linalg.generic {indexing_maps = [#image, #filter, #output], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%i_y : tensor<1x4x6x6xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<1x4x6x6xf32>
  %o_r = tensor.empty() : tensor<1x4x6x6xf32>
  %r = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %f : tensor<1x4x6x6xf32>, tensor<4xf32>) outs(%o_r : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.divf %v0, %in : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  return %r : tensor<1x4x6x6xf32>
}

// A channel whose scale is infinite.
// CHECK-LABEL: func.func @infinite(
// CHECK-NOT: tensor<4x3x3x3x{{f32|f16}}>, tensor<
// CHECK: return
func.func @infinite(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32> {xyntra.parameter = "w"}) -> (tensor<1x4x6x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %f = arith.constant dense<[1.0, 2.0, 0x7F800000, 4.0]> : tensor<4xf32>
  %e_y = tensor.empty() : tensor<1x4x6x6xf32>
  %i_y = linalg.fill ins(%zero : f32) outs(%e_y : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %y = linalg.generic {indexing_maps = [#image, #filter, #output], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%i_y : tensor<1x4x6x6xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<1x4x6x6xf32>
  %o_r = tensor.empty() : tensor<1x4x6x6xf32>
  %r = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %f : tensor<1x4x6x6xf32>, tensor<4xf32>) outs(%o_r : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.mulf %in, %v0 : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  return %r : tensor<1x4x6x6xf32>
}

// A variance that is negative.
// CHECK-LABEL: func.func @negative_variance(
// CHECK-NOT: tensor<4x3x3x3x{{f32|f16}}>, tensor<
// CHECK: return
func.func @negative_variance(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32> {xyntra.parameter = "w"}) -> (tensor<1x4x6x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %v = arith.constant dense<[1.0, -2.0, 3.0, 4.0]> : tensor<4xf32>
  %e_y = tensor.empty() : tensor<1x4x6x6xf32>
  %i_y = linalg.fill ins(%zero : f32) outs(%e_y : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %y = linalg.generic {indexing_maps = [#image, #filter, #output], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%i_y : tensor<1x4x6x6xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<1x4x6x6xf32>
  %e_d = tensor.empty() : tensor<4xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(c) -> (c)>, affine_map<(c) -> (c)>], iterator_types = ["parallel"]}
      ins(%v : tensor<4xf32>) outs(%e_d : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %p = math.sqrt %in : f32
    linalg.yield %p : f32
  } -> tensor<4xf32>
  %o_r = tensor.empty() : tensor<1x4x6x6xf32>
  %r = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %d : tensor<1x4x6x6xf32>, tensor<4xf32>) outs(%o_r : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.divf %in, %v0 : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  return %r : tensor<1x4x6x6xf32>
}

// Scaled weights of 16 bits would be rounded once more.
// CHECK-LABEL: func.func @narrow(
// CHECK-NOT: tensor<4x3x3x3x{{f32|f16}}>, tensor<
// CHECK: return
func.func @narrow(%x: tensor<1x3x8x8xf16>, %w: tensor<4x3x3x3xf16> {xyntra.parameter = "w"}, %f: tensor<4xf16> {xyntra.parameter = "f"}) -> (tensor<1x4x6x6xf16>) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0.0 : f16
  %e_y = tensor.empty() : tensor<1x4x6x6xf16>
  %i_y = linalg.fill ins(%none : f16) outs(%e_y : tensor<1x4x6x6xf16>) -> tensor<1x4x6x6xf16>
  %y = linalg.generic {indexing_maps = [#image, #filter, #output], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x8x8xf16>, tensor<4x3x3x3xf16>) outs(%i_y : tensor<1x4x6x6xf16>) {
  ^bb0(%lhs: f16, %rhs: f16, %acc: f16):
    %prod = arith.mulf %lhs, %rhs : f16
    %sum = arith.addf %acc, %prod : f16
    linalg.yield %sum : f16
  } -> tensor<1x4x6x6xf16>
  %o_r = tensor.empty() : tensor<1x4x6x6xf16>
  %r = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %f : tensor<1x4x6x6xf16>, tensor<4xf16>) outs(%o_r : tensor<1x4x6x6xf16>) {
  ^bb0(%in: f16, %v0: f16, %out: f16):
    %p = arith.mulf %in, %v0 : f16
    linalg.yield %p : f16
  } -> tensor<1x4x6x6xf16>
  return %r : tensor<1x4x6x6xf16>
}

// The largest product does not scale with the weights where they are negative.
// CHECK-LABEL: func.func @largest(
// CHECK-NOT: tensor<4x3x3x3x{{f32|f16}}>, tensor<
// CHECK: return
func.func @largest(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32> {xyntra.parameter = "w"}, %f: tensor<4xf32> {xyntra.parameter = "f"}) -> (tensor<1x4x6x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_y = tensor.empty() : tensor<1x4x6x6xf32>
  %i_y = linalg.fill ins(%zero : f32) outs(%e_y : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %y = linalg.generic {indexing_maps = [#image, #filter, #output], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%i_y : tensor<1x4x6x6xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.maximumf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<1x4x6x6xf32>
  %o_r = tensor.empty() : tensor<1x4x6x6xf32>
  %r = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %f : tensor<1x4x6x6xf32>, tensor<4xf32>) outs(%o_r : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.mulf %in, %v0 : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  return %r : tensor<1x4x6x6xf32>
}

// A sum that starts from one.
// CHECK-LABEL: func.func @start(
// CHECK-NOT: tensor<4x3x3x3x{{f32|f16}}>, tensor<
// CHECK: return
func.func @start(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32> {xyntra.parameter = "w"}, %f: tensor<4xf32> {xyntra.parameter = "f"}) -> (tensor<1x4x6x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e_y = tensor.empty() : tensor<1x4x6x6xf32>
  %i_y = linalg.fill ins(%one : f32) outs(%e_y : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %y = linalg.generic {indexing_maps = [#image, #filter, #output], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%i_y : tensor<1x4x6x6xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<1x4x6x6xf32>
  %o_r = tensor.empty() : tensor<1x4x6x6xf32>
  %r = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %f : tensor<1x4x6x6xf32>, tensor<4xf32>) outs(%o_r : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.mulf %in, %v0 : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  return %r : tensor<1x4x6x6xf32>
}

// What follows adds to something of its own, as a product of one step does.
// CHECK-LABEL: func.func @accumulates(
// CHECK-NOT: tensor<4x3x3x3x{{f32|f16}}>, tensor<
// CHECK: return
func.func @accumulates(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32> {xyntra.parameter = "w"}, %f: tensor<4xf32> {xyntra.parameter = "f"}) -> (tensor<1x4x6x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e_y = tensor.empty() : tensor<1x4x6x6xf32>
  %i_y = linalg.fill ins(%zero : f32) outs(%e_y : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %y = linalg.generic {indexing_maps = [#image, #filter, #output], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%i_y : tensor<1x4x6x6xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<1x4x6x6xf32>
  %o_e = tensor.empty() : tensor<1x4x6x6xf32>
  %o_r = linalg.fill ins(%one : f32) outs(%o_e : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %r = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %f : tensor<1x4x6x6xf32>, tensor<4xf32>) outs(%o_r : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.mulf %in, %v0 : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x4x6x6xf32>
  return %r : tensor<1x4x6x6xf32>
}
