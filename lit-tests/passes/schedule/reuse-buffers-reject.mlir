// RUN: %xyntra-opt %s --split-input-file --reuse-buffers | FileCheck %s

// CHECK-NOT: inplace

#id = affine_map<(d0, d1) -> (d0, d1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>

func.func private @soft(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "row"}>} {
  %0 = "xyntra.softmax"(%x) {axis = 1} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
func.func private @add(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %e = tensor.empty() : tensor<4x4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
func.func private @turned(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %e = tensor.empty() : tensor<4x4xf32>
  %0 = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.negf %p : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// The model's inputs belong to the caller, weights are read again, %0 is read twice as an argument,
// %1 is read later, %2 is read at other positions than are written, %4 is returned.
func.func @main(%x: tensor<4x4xf32> {xyntra.input = "x"}, %w: tensor<4x4xf32> {xyntra.parameter = "w"}) -> tensor<4x4xf32> {
  %a = call @add(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = call @soft(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = call @add(%0, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = call @soft(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = call @turned(%2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = call @soft(%w) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = call @turned(%p) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = call @soft(%q) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = call @soft(%3) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = call @soft(%s) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %u = call @soft(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = call @add(%t, %r) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}
