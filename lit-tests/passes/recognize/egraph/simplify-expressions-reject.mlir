// SPDX-License-Identifier: MIT OR Apache-2.0
// Conditions that are not met: the text comes back as it was.
// RUN: %xyntra-opt %s > %t.before
// RUN: %xyntra-opt %s --simplify-expressions > %t.after
// RUN: diff %t.before %t.after
// RUN: FileCheck %s < %t.after

#id = affine_map<(d0) -> (d0)>
#shift = affine_map<(d0) -> (7 - d0)>

// -0 + 0 is +0.
// CHECK-LABEL: @zero
// CHECK: arith.addf
func.func @zero(%x: tensor<8xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %zero : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// x - x, x * 0 and x / x are NaN for NaN and infinities.
// CHECK-LABEL: @itself
// CHECK: arith.subf
// CHECK: arith.mulf
// CHECK: arith.divf
func.func @itself(%x: tensor<8xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.subf %a, %a : f32
    %m = arith.mulf %a, %zero : f32
    %d = arith.divf %a, %a : f32
    %p = arith.maximumf %s, %m : f32
    %r = arith.maximumf %p, %d : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// 1/3 is no float: only powers of two have exact reciprocals. 2^-149 has none at all.
// CHECK-LABEL: @quotient
// CHECK-COUNT-2: arith.divf
func.func @quotient(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %three = arith.constant 3.0 : f32
  %tiny = arith.constant 0x00000001 : f32
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.divf %a, %three : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%y : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.divf %a, %tiny : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// x == x asks whether x is NaN.
// CHECK-LABEL: @nan
// CHECK: arith.cmpf oeq
func.func @nan(%x: tensor<8xf32>) -> tensor<8xi1> {
  %e = tensor.empty() : tensor<8xi1>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xi1>) {
  ^bb0(%a: f32, %o: i1):
    %r = arith.cmpf oeq, %a, %a : f32
    linalg.yield %r : i1
  } -> tensor<8xi1>
  return %0 : tensor<8xi1>
}

// Narrowing first loses bits; a signed division is no shift; integers in a narrow float round.
// CHECK-LABEL: @narrow
// CHECK: arith.truncf
// CHECK: arith.extf
// CHECK: arith.divsi
// CHECK: arith.sitofp
// CHECK: arith.fptosi
func.func @narrow(%x: tensor<8xf32>, %y: tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>) {
  %eight = arith.constant 8 : i32
  %e = tensor.empty() : tensor<8xf32>
  %f = tensor.empty() : tensor<8xi32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.truncf %a : f32 to f16
    %r = arith.extf %n : f16 to f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%y : tensor<8xi32>) outs(%f : tensor<8xi32>) {
  ^bb0(%a: i32, %o: i32):
    %d = arith.divsi %a, %eight : i32
    %s = arith.sitofp %d : i32 to f32
    %r = arith.fptosi %s : f32 to i32
    linalg.yield %r : i32
  } -> tensor<8xi32>
  return %0, %1 : tensor<8xf32>, tensor<8xi32>
}

// pow(x, 1/2) is +inf for -inf, where the square root is NaN.
// CHECK-LABEL: @power
// CHECK: math.powf
func.func @power(%x: tensor<8xf32>) -> tensor<8xf32> {
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.powf %a, %half : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// a b + a c: one product would be cheaper, but cancels otherwise; in f16 gelu rounds at every step.
// CHECK-LABEL: @factor
// CHECK-COUNT-2: arith.mulf
// CHECK: math.erf
func.func @factor(%x: tensor<8xf32>, %y: tensor<8xf32>, %h: tensor<8xf16>) -> (tensor<8xf32>, tensor<8xf16>) {
  %k = arith.constant 0.707106769 : f16
  %half = arith.constant 0.5 : f16
  %one = arith.constant 1.0 : f16
  %e = tensor.empty() : tensor<8xf32>
  %f = tensor.empty() : tensor<8xf16>
  %0 = linalg.generic {indexing_maps = [#id, #shift, #id, #id], iterator_types = ["parallel"]} ins(%x, %x, %y : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.mulf %a, %c : f32
    %r = arith.addf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%h : tensor<8xf16>) outs(%f : tensor<8xf16>) {
  ^bb0(%a: f16, %o: f16):
    %p = arith.mulf %a, %k : f16
    %q = math.erf %p : f16
    %s = arith.addf %q, %one : f16
    %m = arith.mulf %a, %half : f16
    %r = arith.mulf %m, %s : f16
    linalg.yield %r : f16
  } -> tensor<8xf16>
  return %0, %1 : tensor<8xf32>, tensor<8xf16>
}

// Cheaper alone, but -x is needed anyway: x + -x2 as a difference saves nothing shared.
// CHECK-LABEL: @shared
// CHECK: arith.negf
// CHECK: arith.addf
func.func @shared(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%0, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// Flags that somebody set, computed positions and reductions are not looked into.
// CHECK-LABEL: @opaque
// CHECK: fastmath<fast>
// CHECK: linalg.index
func.func @opaque(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.mulf %a, %one fastmath<fast> : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<8xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %v = tensor.extract %x[%i] : tensor<8xf32>
    %r = arith.mulf %v, %one : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
