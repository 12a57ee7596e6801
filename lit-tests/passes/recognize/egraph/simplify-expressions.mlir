// SPDX-License-Identifier: MIT OR Apache-2.0
// RUN: %xyntra-opt %s --simplify-expressions | FileCheck %s --check-prefixes=CHECK,REORDER
// RUN: %xyntra-opt %s --simplify-expressions=math=fast | FileCheck %s --check-prefixes=CHECK,FAST
// RUN: %xyntra-opt %s --simplify-expressions=math=exact | FileCheck %s --check-prefixes=CHECK,EXACT

#id = affine_map<(d0) -> (d0)>
#row = affine_map<(d0, d1) -> (d1)>
#all = affine_map<(d0, d1) -> (d0, d1)>

// A chain of loops; the ones that remain keep their place.
// CHECK-LABEL: @chain
// CHECK: arith.constant 2.500000e-01 : f32
// CHECK-NOT: arith.mulf %{{.*}}, %cst_0
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK: arith.mulf %in, %cst : f32
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @chain(%x: tensor<8xf32>) -> tensor<8xf32> {
  %one = arith.constant 1.0 : f32
  %four = arith.constant 4.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.mulf %a, %one : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%0 : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%1 : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.divf %a, %four : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// One body: signs cancel.
// CHECK-LABEL: @signs
// CHECK-NOT: arith.negf
// CHECK: arith.subf %in, %in_{{[0-9]+}} : f32
// CHECK-NEXT: linalg.yield
func.func @signs(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %n = arith.negf %b : f32
    %m = arith.negf %a : f32
    %p = arith.negf %m : f32
    %r = arith.addf %p, %n : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// |x| + 0 is |x|: a magnitude is never -0.
// CHECK-LABEL: @zero_after_magnitude
// CHECK: math.absf
// CHECK-NOT: arith.addf
// CHECK: return
func.func @zero_after_magnitude(%x: tensor<8xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = math.absf %a : f32
    %r = arith.addf %m, %zero : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Wrapping integers: x * 8 - 3 * x is 5 * x.
// CHECK-LABEL: @integers
// CHECK: %[[FIVE:.*]] = arith.constant 5 : i32
// CHECK: arith.muli %in, %[[FIVE]] : i32
// CHECK-NEXT: linalg.yield
func.func @integers(%x: tensor<8xi32>) -> tensor<8xi32> {
  %eight = arith.constant 8 : i32
  %three = arith.constant 3 : i32
  %e = tensor.empty() : tensor<8xi32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xi32>) outs(%e : tensor<8xi32>) {
  ^bb0(%a: i32, %o: i32):
    %m = arith.muli %a, %eight : i32
    %n = arith.muli %three, %a : i32
    %r = arith.subi %m, %n : i32
    linalg.yield %r : i32
  } -> tensor<8xi32>
  return %0 : tensor<8xi32>
}

// CHECK-LABEL: @strength
// CHECK-DAG: arith.shli
// CHECK-DAG: arith.shrui
// CHECK-DAG: arith.andi
// CHECK: return
func.func @strength(%x: tensor<8xi32>) -> tensor<8xi32> {
  %eight = arith.constant 8 : i32
  %e = tensor.empty() : tensor<8xi32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xi32>) outs(%e : tensor<8xi32>) {
  ^bb0(%a: i32, %o: i32):
    %m = arith.muli %a, %eight : i32
    %n = arith.divui %a, %eight : i32
    %p = arith.remui %a, %eight : i32
    %q = arith.maxsi %m, %n : i32
    %r = arith.maxsi %q, %p : i32
    linalg.yield %r : i32
  } -> tensor<8xi32>
  return %0 : tensor<8xi32>
}

// not (x < y) is the unordered x >= y; a select on a complement swaps its arms.
// CHECK-LABEL: @choice
// CHECK: %[[GE:.*]] = arith.cmpf uge, %in, %in_{{[0-9]+}} : f32
// CHECK-NEXT: arith.select %[[GE]], %in, %in_{{[0-9]+}} : f32
// CHECK-NEXT: linalg.yield
func.func @choice(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %true = arith.constant true
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.cmpf olt, %a, %b : f32
    %n = arith.xori %c, %true : i1
    %s = arith.select %n, %a, %b : f32
    %r = arith.select %n, %s, %b : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Widening and narrowing back is the identity.
// CHECK-LABEL: @casts
// CHECK-NOT: arith.extf
// CHECK: math.absf %in : f16
// CHECK-NOT: arith.truncf
// CHECK: return
func.func @casts(%x: tensor<8xf16>) -> tensor<8xf16> {
  %e = tensor.empty() : tensor<8xf16>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf16>) outs(%e : tensor<8xf16>) {
  ^bb0(%a: f16, %o: f16):
    %w = arith.extf %a : f16 to f32
    %n = arith.truncf %w : f32 to f16
    %m = math.absf %n : f16
    %r = math.absf %m : f16
    linalg.yield %r : f16
  } -> tensor<8xf16>
  return %0 : tensor<8xf16>
}

// A constant mask of `true` leaves a broadcast, read through its map.
// CHECK-LABEL: @broadcast
// CHECK: linalg.generic {indexing_maps = [#[[ROW:.*]], #[[ALL:.*]]]
// CHECK-SAME: ins(%arg0 : tensor<8xi1>)
// CHECK-NOT: arith.andi
// CHECK: linalg.yield %in : i1
func.func @broadcast(%x: tensor<8xi1>) -> tensor<4x8xi1> {
  %mask = arith.constant dense<true> : tensor<4x8xi1>
  %e = tensor.empty() : tensor<4x8xi1>
  %0 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%mask, %x : tensor<4x8xi1>, tensor<8xi1>) outs(%e : tensor<4x8xi1>) {
  ^bb0(%a: i1, %b: i1, %o: i1):
    %r = arith.andi %a, %b : i1
    linalg.yield %r : i1
  } -> tensor<4x8xi1>
  return %0 : tensor<4x8xi1>
}

// x * c / d is x * (c / d), but for a rounding.
// CHECK-LABEL: @scales
// EXACT: arith.divf
// REORDER-NOT: arith.divf
// FAST-NOT: arith.divf
// CHECK: return
func.func @scales(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c = arith.constant 3.0 : f32
  %d = arith.constant 7.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %a, %c : f32
    %r = arith.divf %m, %d : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @roots
// EXACT: math.powf
// REORDER: arith.mulf
// FAST: math.rsqrt
// CHECK: return
func.func @roots(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %two = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = math.powf %a, %two : f32
    %s = math.sqrt %b : f32
    %r = arith.divf %p, %s : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// exp(x) * exp(y) is exp(x + y) where overflow is allowed to differ.
// CHECK-LABEL: @exponentials
// EXACT-COUNT-2: math.exp
// REORDER-COUNT-2: math.exp
// FAST: arith.addf
// FAST-NEXT: math.exp
// FAST-NEXT: linalg.yield
// CHECK: return
func.func @exponentials(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = math.exp %a : f32
    %q = math.exp %b : f32
    %r = arith.mulf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// gelu as x * (erf(x / sqrt 2) / 2 + 1/2).
// CHECK-LABEL: @gelu
// EXACT: math.erf
// REORDER: "xyntra.gelu"(%arg0) {approximate = "none"}
// FAST: "xyntra.gelu"(%arg0) {approximate = "none"}
// CHECK: return
func.func @gelu(%x: tensor<8xf32>) -> tensor<8xf32> {
  %root = arith.constant 1.41421354 : f32
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.divf %a, %root : f32
    %r = math.erf %q : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%0, %x : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %half, %a : f32
    %p = arith.addf %m, %half : f32
    %r = arith.mulf %b, %p : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// silu as x * 1 / (1 + exp(-x)); the hyperbolic spelling needs fast math.
// CHECK-LABEL: @silu
// EXACT: math.exp
// REORDER: "xyntra.silu"(%arg0)
// REORDER: math.tanh
// FAST-COUNT-2: "xyntra.silu"
// CHECK: return
func.func @silu(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.negf %a : f32
    %p = math.exp %n : f32
    %s = arith.addf %p, %one : f32
    %q = arith.divf %one, %s : f32
    %r = arith.mulf %q, %a : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%y : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.mulf %a, %half : f32
    %p = math.tanh %n : f32
    %s = arith.addf %one, %p : f32
    %q = arith.mulf %half, %s : f32
    %r = arith.mulf %a, %q : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
