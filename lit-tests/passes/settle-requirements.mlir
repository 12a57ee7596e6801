// RUN: %xyntra-opt %s --settle-requirements | FileCheck %s

// What is known to be true is no result any more; what a call computes is left.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<4xf32> {xyntra.output = "y"}, tensor<i1> {xyntra.requires = {code = "depends", message = "computed"}})
// CHECK: return %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : tensor<4xf32>, tensor<i1>
#scalar = affine_map<() -> ()>
func.func @main(%x: tensor<4xf32>, %sr: tensor<i64>) -> (
    tensor<i1> {xyntra.requires = {code = "constant", message = "a constant"}},
    tensor<4xf32> {xyntra.output = "y"},
    tensor<i1> {xyntra.requires = {code = "depends", message = "computed"}},
    tensor<i1> {xyntra.requires = {code = "filled", message = "a fill"}},
    tensor<i1> {xyntra.requires = {code = "yielded", message = "a body that yields a constant"}},
    tensor<i1> {xyntra.requires = {code = "reshaped", message = "a view"}}
) {
  %constant = arith.constant dense<true> : tensor<i1>
  %true = arith.constant true
  %rate = arith.constant 16000 : i64
  %e = tensor.empty() : tensor<i1>
  %filled = linalg.fill ins(%true : i1) outs(%e : tensor<i1>) -> tensor<i1>
  %yielded = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []}
      ins(%sr : tensor<i64>) outs(%e : tensor<i1>) {
  ^bb0(%v: i64, %o: i1):
    linalg.yield %true : i1
  } -> tensor<i1>
  %one = arith.constant dense<true> : tensor<1xi1>
  %reshaped = tensor.collapse_shape %one [] : tensor<1xi1> into tensor<i1>
  %computed = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []}
      ins(%sr : tensor<i64>) outs(%e : tensor<i1>) {
  ^bb0(%v: i64, %o: i1):
    %equal = arith.cmpi eq, %v, %rate : i64
    linalg.yield %equal : i1
  } -> tensor<i1>
  return %constant, %x, %computed, %filled, %yielded, %reshaped
      : tensor<i1>, tensor<4xf32>, tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>
}

// A reduction over no elements is the initial value, whatever its body yields.
// CHECK-LABEL: func.func private @nothing
// CHECK-SAME: xyntra.requires
// CHECK: return %{{.*}} : tensor<i1>
func.func private @nothing(%x: tensor<0xi1>, %initial: tensor<i1>) -> (
    tensor<i1> {xyntra.requires = {code = "empty", message = "no elements"}}
) {
  %true = arith.constant true
  %all = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>],
                         iterator_types = ["reduction"]}
      ins(%x : tensor<0xi1>) outs(%initial : tensor<i1>) {
  ^bb0(%v: i1, %o: i1):
    linalg.yield %true : i1
  } -> tensor<i1>
  return %all : tensor<i1>
}

// An argument may be anything.
// CHECK-LABEL: func.func private @given
// CHECK-SAME: xyntra.requires
func.func private @given(%x: tensor<i1>) -> (
    tensor<i1> {xyntra.requires = {code = "given", message = "an argument"}}
) {
  return %x : tensor<i1>
}

// Results that nothing is required of stay, also constant ones.
// CHECK-LABEL: func.func private @plain
// CHECK-SAME: -> tensor<i1>
func.func private @plain() -> tensor<i1> {
  %constant = arith.constant dense<false> : tensor<i1>
  return %constant : tensor<i1>
}
