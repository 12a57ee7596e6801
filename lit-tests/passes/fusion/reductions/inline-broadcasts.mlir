// RUN: %xyntra-opt %s --inline-broadcasts | FileCheck %s

#image = affine_map<(n, t, c) -> (n, t, c)>
#channel = affine_map<(n, t, c) -> (n, c)>
#id = affine_map<(n, c) -> (n, c)>

// One plus a part of a larger tensor is computed where it multiplies every token.
// CHECK-LABEL: func.func @modulated(
// CHECK: [[S:%.+]] = tensor.extract_slice
// CHECK: linalg.generic {{.+}} ins(%arg0, [[S]] :
// CHECK: arith.addf
// CHECK-NEXT: arith.mulf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @modulated(%x: tensor<2x64x32xf32>, %s: tensor<2x96xf32>) -> (tensor<2x64x32xf32>) {
  %one = arith.constant 1.0 : f32
  %a = tensor.extract_slice %s[0, 32] [2, 32] [1, 1] : tensor<2x96xf32> to tensor<2x32xf32>
  %e = tensor.empty() : tensor<2x32xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<2x32xf32>) outs(%e : tensor<2x32xf32>) {
  ^bb0(%p: f32, %o: f32):
    %v = arith.addf %p, %one : f32
    linalg.yield %v : f32
  } -> tensor<2x32xf32>
  %h = tensor.empty() : tensor<2x64x32xf32>
  %1 = linalg.generic {indexing_maps = [#image, #channel, #image], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %0 : tensor<2x64x32xf32>, tensor<2x32xf32>) outs(%h : tensor<2x64x32xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %v = arith.mulf %p, %q : f32
    linalg.yield %v : f32
  } -> tensor<2x64x32xf32>
  return %1 : tensor<2x64x32xf32>
}
