// RUN: %xyntra-opt %s --quantize-weights | FileCheck %s

#id2 = affine_map<(m, n) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// A weight that something else reads as well, a small one, one that no product reads, and what is no weight stay as they are.
// CHECK: ["weight shared", "f32", "something else than products reads it, too"]
// CHECK-SAME: ["weight small", "f32", "it is small"]
// CHECK-SAME: ["weight other", "f32", "no matrix product reads it as it is"]
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %arg0: tensor<4x128xf32>, %arg1: tensor<128x128xf32> {xyntra.parameter = "shared"}, %arg2: tensor<8x128xf32> {xyntra.parameter = "small"}, %arg3: tensor<4x128xf32> {xyntra.parameter = "other"}, %arg4: tensor<128x128xf32>)
// CHECK-NOT: i8
func.func @main(%x: tensor<4x128xf32>, %shared: tensor<128x128xf32> {xyntra.parameter = "shared"}, %small: tensor<8x128xf32> {xyntra.parameter = "small"}, %other: tensor<4x128xf32> {xyntra.parameter = "other"}, %given: tensor<128x128xf32>) -> (tensor<4x128xf32>, tensor<4x8xf32>, tensor<128x128xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x128xf32>
  %z = linalg.generic {indexing_maps = [#id2], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x128xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<4x128xf32>
  %e8 = tensor.empty() : tensor<4x8xf32>
  %z8 = linalg.generic {indexing_maps = [#id2], iterator_types = ["parallel", "parallel"]} outs(%e8 : tensor<4x8xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<4x8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %other : tensor<4x128xf32>, tensor<4x128xf32>) outs(%e : tensor<4x128xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %s = arith.addf %l, %r : f32
    linalg.yield %s : f32
  } -> tensor<4x128xf32>
  %p = linalg.generic {indexing_maps = [#a, #w, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%sum, %shared : tensor<4x128xf32>, tensor<128x128xf32>) outs(%z : tensor<4x128xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x128xf32>
  %q = linalg.generic {indexing_maps = [#a, #w, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p, %small : tensor<4x128xf32>, tensor<8x128xf32>) outs(%z8 : tensor<4x8xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [#a, #w, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p, %given : tensor<4x128xf32>, tensor<128x128xf32>) outs(%z : tensor<4x128xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x128xf32>
  return %r, %q, %shared : tensor<4x128xf32>, tensor<4x8xf32>, tensor<128x128xf32>
}
