// RUN: %xyntra-opt %s --fold-batch-norm | FileCheck %s
// RUN: %xyntra-opt %s --fold-batch-norm=max-weight-bytes=400 | FileCheck %s --check-prefix=SMALL

#image = affine_map<(n, m, y, x, c, i, j) -> (n, c, y + i, x + j)>
#filter = affine_map<(n, m, y, x, c, i, j) -> (m, c, i, j)>
#output = affine_map<(n, m, y, x, c, i, j) -> (n, m, y, x)>
#id = affine_map<(n, m, y, x) -> (n, m, y, x)>
#channel = affine_map<(n, m, y, x) -> (m)>
#column = affine_map<(n, m, y, x) -> (x)>
#spread = affine_map<(n, m, y, x) -> (0, m, 0, 0)>
#none = affine_map<(n, m, y, x) -> ()>

// A factor and a shift for each channel: the weights are scaled, and the shift is all that is left. Beyond the limit for
// weights nothing changes.
// CHECK-LABEL: func.func @factor_and_shift(
// CHECK-SAME: %[[X:.+]]: tensor<1x3x8x8xf32>, %[[W:[^:]+]]: {{[^%]+}}, %[[F:[^:]+]]: {{[^%]+}}, %[[S:[^:]+]]: tensor<4xf32>
// CHECK: %[[SCALED:.+]] = linalg.generic {{.+}} ins(%[[W]], %[[F]] : tensor<4x3x3x3xf32>, tensor<4xf32>)
// CHECK: arith.mulf
// CHECK: %[[Y:.+]] = linalg.generic {{.+}} ins(%[[X]], %[[SCALED]] :
// CHECK: %[[R:.+]] = linalg.generic {{.+}} ins(%[[Y]], %[[S]] : tensor<1x4x6x6xf32>, tensor<4xf32>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.addf
// CHECK-NEXT: linalg.yield
// CHECK: return %[[R]]
// SMALL-LABEL: func.func @factor_and_shift(
// SMALL-SAME: %[[X:.+]]: tensor<1x3x8x8xf32>, %[[W:[^:]+]]:
// SMALL: linalg.generic {{.+}} ins(%[[X]], %[[W]] :
func.func @factor_and_shift(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32> {xyntra.parameter = "w"}, %f: tensor<4xf32> {xyntra.parameter = "f"}, %s: tensor<4xf32> {xyntra.parameter = "s"}) -> (tensor<1x4x6x6xf32>) {
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
  %r = linalg.generic {indexing_maps = [#id, #channel, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %f, %s : tensor<1x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>) outs(%o_r : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %v1: f32, %out: f32):
    %p = arith.mulf %in, %v0 : f32
    %q = arith.addf %p, %v1 : f32
    linalg.yield %q : f32
  } -> tensor<1x4x6x6xf32>
  return %r : tensor<1x4x6x6xf32>
}

// The definition, one operation at a time, behind a bias: its parts come as vectors, spread over all dimensions, and as a
// constant. All of them make one vector for the weights and one for the result.
// CHECK-LABEL: func.func @definition(
// CHECK-SAME: %[[X:.+]]: tensor<1x3x8x8xf32>, %[[W:[^:]+]]: {{[^%]+}}, %[[B:[^:]+]]: {{[^%]+}}, %[[MEAN:[^:]+]]: {{[^%]+}}, %[[VAR:[^:]+]]: {{[^%]+}}, %[[G:[^:]+]]: {{[^%]+}}, %[[S:[^:]+]]: tensor<4xf32>
// CHECK: %[[SCALE:.+]] = linalg.generic {{.+}} ins(%[[B]], %[[MEAN]], %[[VAR]], %[[G]], %[[S]] :
// CHECK: %[[V:.+]] = arith.addf
// CHECK: %[[D:.+]] = math.sqrt %[[V]]
// CHECK: arith.divf %{{.+}}, %[[D]]
// CHECK: arith.mulf
// CHECK: linalg.generic {{.+}} ins(%[[W]], %[[SCALE]] :
// CHECK: %[[SHIFT:.+]] = linalg.generic {{.+}} ins(%[[B]], %[[MEAN]], %[[VAR]], %[[G]], %[[S]] :
// CHECK: arith.subf
// CHECK: arith.divf
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: %[[Y:.+]] = linalg.generic {{.+}} ins(%[[X]],
// CHECK: %[[R:.+]] = linalg.generic {{.+}} ins(%[[Y]], %[[SHIFT]] :
// CHECK-NOT: linalg.generic
// CHECK: return %[[R]]
func.func @definition(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32> {xyntra.parameter = "w"}, %b: tensor<4xf32> {xyntra.parameter = "b"}, %mean: tensor<1x4x1x1xf32> {xyntra.parameter = "mean"}, %var: tensor<1x4x1x1xf32> {xyntra.parameter = "var"}, %g: tensor<4x1x1xf32> {xyntra.parameter = "g"}, %s: tensor<4xf32> {xyntra.parameter = "s"}) -> (tensor<1x4x6x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %e_y = tensor.empty() : tensor<1x4x6x6xf32>
  %i_y = linalg.fill ins(%zero : f32) outs(%e_y : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %y = linalg.generic {indexing_maps = [#image, #filter, #output], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%i_y : tensor<1x4x6x6xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<1x4x6x6xf32>
  %o_b1 = tensor.empty() : tensor<1x4x6x6xf32>
  %b1 = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %b : tensor<1x4x6x6xf32>, tensor<4xf32>) outs(%o_b1 : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.addf %v0, %in : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  %o_b2 = tensor.empty() : tensor<1x4x6x6xf32>
  %b2 = linalg.generic {indexing_maps = [#id, #spread, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%b1, %mean : tensor<1x4x6x6xf32>, tensor<1x4x1x1xf32>) outs(%o_b2 : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.subf %in, %v0 : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  %o_b3 = tensor.empty() : tensor<1x4x6x6xf32>
  %b3 = linalg.generic {indexing_maps = [#id, #spread, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%b2, %var : tensor<1x4x6x6xf32>, tensor<1x4x1x1xf32>) outs(%o_b3 : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.addf %v0, %eps : f32
    %q = math.sqrt %p : f32
    %t = arith.divf %in, %q : f32
    linalg.yield %t : f32
  } -> tensor<1x4x6x6xf32>
  %o_b4 = tensor.empty() : tensor<1x4x6x6xf32>
  %b4 = linalg.generic {indexing_maps = [#id, affine_map<(n, m, y, x) -> (m, 0, 0)>, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%b3, %g : tensor<1x4x6x6xf32>, tensor<4x1x1xf32>) outs(%o_b4 : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.mulf %v0, %in : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  %o_b5 = tensor.empty() : tensor<1x4x6x6xf32>
  %b5 = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%b4, %s : tensor<1x4x6x6xf32>, tensor<4xf32>) outs(%o_b5 : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.addf %in, %v0 : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  return %b5 : tensor<1x4x6x6xf32>
}

// What depends on constants alone is computed at once: (1, 2, 3, 4) / sqrt(4).
// CHECK-LABEL: func.func @constants(
// CHECK-SAME: %[[X:.+]]: tensor<1x3x8x8xf32>, %[[W:[^:]+]]:
// CHECK: %[[F:.+]] = arith.constant dense<[5.000000e-01, 1.000000e+00, 1.500000e+00, 2.000000e+00]>
// CHECK: %[[SCALED:.+]] = linalg.generic {{.+}} ins(%[[W]], %[[F]] :
// CHECK: %[[Y:.+]] = linalg.generic {{.+}} ins(%[[X]], %[[SCALED]] :
// CHECK-NOT: math.sqrt
// CHECK: return %[[Y]]
func.func @constants(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32> {xyntra.parameter = "w"}) -> (tensor<1x4x6x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %g = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %v = arith.constant dense<4.0> : tensor<4xf32>
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
  %e_f = tensor.empty() : tensor<4xf32>
  %f = linalg.generic {indexing_maps = [affine_map<(c) -> (c)>, affine_map<(c) -> (c)>, affine_map<(c) -> (c)>], iterator_types = ["parallel"]}
      ins(%g, %d : tensor<4xf32>, tensor<4xf32>) outs(%e_f : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = arith.divf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<4xf32>
  %o_r = tensor.empty() : tensor<1x4x6x6xf32>
  %r = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %f : tensor<1x4x6x6xf32>, tensor<4xf32>) outs(%o_r : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.mulf %in, %v0 : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  return %r : tensor<1x4x6x6xf32>
}

// Two convolutions share a factor that is computed behind them; it moves up once. A difference from a vector is a scale, too.
// CHECK-LABEL: func.func @shared_factor(
// CHECK: %[[F:.+]] = linalg.generic {{.+}} ins(%{{.+}} : tensor<4xf32>)
// CHECK: math.sqrt
// CHECK: %[[W1:.+]] = linalg.generic {{.+}} ins(%{{.+}}, %[[F]] : tensor<4x3x3x3xf32>, tensor<4xf32>)
// CHECK: linalg.generic {{.+}} ins(%{{.+}}, %[[W1]] : tensor<1x3x8x8xf32>,
// CHECK: %[[NEGATED:.+]] = linalg.generic {{.+}} outs(%{{.+}} : tensor<4xf32>)
// CHECK: arith.negf
// CHECK: %[[W2:.+]] = linalg.generic {{.+}} ins(%{{.+}}, %[[NEGATED]] : tensor<4x3x3x3xf32>, tensor<4xf32>)
// CHECK: linalg.generic {{.+}} ins(%{{.+}}, %[[W2]] : tensor<1x3x8x8xf32>,
func.func @shared_factor(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32> {xyntra.parameter = "w"}, %f: tensor<4xf32> {xyntra.parameter = "f"}, %s: tensor<4xf32> {xyntra.parameter = "s"}) -> (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e_y1 = tensor.empty() : tensor<1x4x6x6xf32>
  %i_y1 = linalg.fill ins(%zero : f32) outs(%e_y1 : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %y1 = linalg.generic {indexing_maps = [#image, #filter, #output], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%i_y1 : tensor<1x4x6x6xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<1x4x6x6xf32>
  %e_y2 = tensor.empty() : tensor<1x4x6x6xf32>
  %i_y2 = linalg.fill ins(%zero : f32) outs(%e_y2 : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %y2 = linalg.generic {indexing_maps = [#image, #filter, #output], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%i_y2 : tensor<1x4x6x6xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<1x4x6x6xf32>
  %e = tensor.empty() : tensor<4xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(c) -> (c)>, affine_map<(c) -> (c)>], iterator_types = ["parallel"]}
      ins(%f : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %p = math.sqrt %in : f32
    linalg.yield %p : f32
  } -> tensor<4xf32>
  %o_r1 = tensor.empty() : tensor<1x4x6x6xf32>
  %r1 = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y1, %d : tensor<1x4x6x6xf32>, tensor<4xf32>) outs(%o_r1 : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %out: f32):
    %p = arith.mulf %in, %v0 : f32
    linalg.yield %p : f32
  } -> tensor<1x4x6x6xf32>
  %o_r2 = tensor.empty() : tensor<1x4x6x6xf32>
  %r2 = linalg.generic {indexing_maps = [#id, #channel, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y2, %d, %s : tensor<1x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>) outs(%o_r2 : tensor<1x4x6x6xf32>) {
  ^bb0(%in: f32, %v0: f32, %v1: f32, %out: f32):
    %p = arith.mulf %in, %v0 : f32
    %q = arith.subf %v1, %p : f32
    linalg.yield %q : f32
  } -> tensor<1x4x6x6xf32>
  return %r1, %r2 : tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>
}

// Every column of a matrix product has its channel; the weight may come first.
// CHECK-LABEL: func.func @contraction(
// CHECK-SAME: %[[X:.+]]: tensor<5x8xf32>, %[[W:[^:]+]]: {{[^%]+}}, %[[F:[^:]+]]: tensor<6xf32>
// CHECK: %[[SCALED:.+]] = linalg.generic {{.+}} ins(%[[W]], %[[F]] : tensor<6x8xf32>, tensor<6xf32>)
// CHECK: %[[Y:.+]] = linalg.generic {{.+}} ins(%[[SCALED]], %[[X]] :
// CHECK: return %[[Y]]
func.func @contraction(%x: tensor<5x8xf32>, %w: tensor<6x8xf32> {xyntra.parameter = "w"}, %f: tensor<6xf32> {xyntra.parameter = "f"}) -> (tensor<5x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<5x6xf32>) -> tensor<5x6xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w, %x : tensor<6x8xf32>, tensor<5x8xf32>) outs(%i : tensor<5x6xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %prod, %acc : f32
    linalg.yield %sum : f32
  } -> tensor<5x6xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%y, %f : tensor<5x6xf32>, tensor<6xf32>) outs(%e : tensor<5x6xf32>) {
  ^bb0(%in: f32, %by: f32, %out: f32):
    %p = arith.mulf %in, %by : f32
    linalg.yield %p : f32
  } -> tensor<5x6xf32>
  return %r : tensor<5x6xf32>
}

// The channels of a grouped convolution are two loops.
// CHECK-LABEL: func.func @groups(
// CHECK-SAME: %[[X:.+]]: tensor<1x2x3x8xf32>, %[[W:[^:]+]]: {{[^%]+}}, %[[F:[^:]+]]: tensor<10xf32>
// CHECK: %[[G:.+]] = tensor.expand_shape %[[F]] {{.+}} : tensor<10xf32> into tensor<2x5xf32>
// CHECK: %[[SCALED:.+]] = linalg.generic {{.+}} ins(%[[W]], %[[G]] : tensor<2x5x3xf32>, tensor<2x5xf32>)
// CHECK: %[[Y:.+]] = linalg.generic {{.+}} ins(%[[X]], %[[SCALED]] :
// CHECK: %[[R:.+]] = tensor.collapse_shape %[[Y]]
// CHECK: return %[[R]]
func.func @groups(%x: tensor<1x2x3x8xf32>, %w: tensor<2x5x3xf32> {xyntra.parameter = "w"}, %f: tensor<10xf32> {xyntra.parameter = "f"}) -> (tensor<1x10x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x2x5x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2x5x8xf32>) -> tensor<1x2x5x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(n, g, m, y, c) -> (n, g, c, y)>, affine_map<(n, g, m, y, c) -> (g, m, c)>, affine_map<(n, g, m, y, c) -> (n, g, m, y)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<1x2x3x8xf32>, tensor<2x5x3xf32>) outs(%i : tensor<1x2x5x8xf32>) {
  ^bb0(%lhs: f32, %rhs: f32, %acc: f32):
    %prod = arith.mulf %lhs, %rhs : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<1x2x5x8xf32>
  %flat = tensor.collapse_shape %y [[0], [1, 2], [3]] : tensor<1x2x5x8xf32> into tensor<1x10x8xf32>
  %o = tensor.empty() : tensor<1x10x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, m, y) -> (n, m, y)>, affine_map<(n, m, y) -> (m)>, affine_map<(n, m, y) -> (n, m, y)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%flat, %f : tensor<1x10x8xf32>, tensor<10xf32>) outs(%o : tensor<1x10x8xf32>) {
  ^bb0(%in: f32, %by: f32, %out: f32):
    %p = arith.mulf %in, %by : f32
    linalg.yield %p : f32
  } -> tensor<1x10x8xf32>
  return %r : tensor<1x10x8xf32>
}
