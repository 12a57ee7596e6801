// RUN: %xyntra-opt %s --channels-last | FileCheck %s

#read = affine_map<(n, m, y, x, c) -> (n, c, y, x)>
#weight = affine_map<(n, m, y, x, c) -> (m, c)>
#write = affine_map<(n, m, y, x, c) -> (n, m, y, x)>

// A single convolution between an argument and a result: copying both costs more than it gains.
// CHECK-LABEL: func.func @alone(
// CHECK: linalg.generic {{.+}} ins({{.+}} : tensor<1x16x56x56xf32>, tensor<16x16xf32>) outs({{.+}} : tensor<1x16x56x56xf32>)
func.func @alone(%x: tensor<1x16x56x56xf32>, %w: tensor<16x16xf32>) -> tensor<1x16x56x56xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x16x56x56xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x16x56x56xf32>) -> tensor<1x16x56x56xf32>
  %c = linalg.generic {indexing_maps = [#read, #weight, #write], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<1x16x56x56xf32>, tensor<16x16xf32>) outs(%f : tensor<1x16x56x56xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x16x56x56xf32>
  return %c : tensor<1x16x56x56xf32>
}

#a = affine_map<(b, m, n, k) -> (b, m, k)>
#b = affine_map<(b, m, n, k) -> (k, n)>
#c = affine_map<(b, m, n, k) -> (b, m, n)>

// A product whose columns are innermost already.
// CHECK-LABEL: func.func @product(
// CHECK: linalg.generic {{.+}} outs({{.+}} : tensor<2x64x32xf32>)
// CHECK: linalg.generic {{.+}} outs({{.+}} : tensor<2x64x32xf32>)
func.func @product(%x: tensor<2x64x48xf32>, %w: tensor<48x32xf32>) -> tensor<2x64x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x64x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x64x32xf32>) -> tensor<2x64x32xf32>
  %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<2x64x48xf32>, tensor<48x32xf32>) outs(%f : tensor<2x64x32xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x64x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(b, m, n) -> (b, m, n)>, affine_map<(b, m, n) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%y : tensor<2x64x32xf32>) outs(%e : tensor<2x64x32xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.negf %p : f32
    linalg.yield %s : f32
  } -> tensor<2x64x32xf32>
  return %r : tensor<2x64x32xf32>
}
