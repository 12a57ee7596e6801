// RUN: %xyntra-opt %s --check-operations | FileCheck %s

// What models hold is left as it is.
// CHECK-LABEL: func.func private @elementwise_negate
// CHECK: linalg.generic
// CHECK-LABEL: func.func @main
// CHECK: scf.for
// CHECK: tensor.insert
// CHECK: call @elementwise_negate
#id = affine_map<(d0) -> (d0)>
func.func private @elementwise_negate(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%v: f32, %o: f32):
    %n = arith.negf %v : f32
    linalg.yield %n : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32> {xyntra.input = "x"}) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %x) -> (tensor<4xf32>) {
    %v = tensor.extract %x[%i] : tensor<4xf32>
    %u = tensor.insert %v into %t[%i] : tensor<4xf32>
    scf.yield %u : tensor<4xf32>
  }
  %z = call @elementwise_negate(%y) : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}
