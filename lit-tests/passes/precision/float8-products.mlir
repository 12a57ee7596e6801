// RUN: %xyntra-opt %s --float8-products | FileCheck %s

#id2 = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Rows have scales, which a call finds, and columns of the weight, which a load finds; the sum takes both.
// CHECK: xyntra.precisions = {{\[}}["line {{[0-9]+}}", "fp8 by rows", ""], ["line {{[0-9]+}}", "fp8", ""]]
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.+]]: tensor<4x64xf16>, %[[W:.+]]: tensor<64x32xf16>
// CHECK: linalg.generic {{.+}} ins(%[[W]] : tensor<64x32xf16>) outs(%{{.+}} : tensor<32xf32>)
// CHECK: %[[V:.+]] = linalg.generic {{.+}} ins(%[[W]], %{{.+}} : tensor<64x32xf16>, tensor<1x32xf32>) outs(%{{.+}} : tensor<64x32xi8>)
// CHECK: arith.truncf %{{.+}} : f32 to f8E4M3FN
// CHECK: linalg.generic {{.+}} ins(%[[X]] : tensor<4x64xf16>) outs(%{{.+}} : tensor<4xf32>)
// CHECK: math.absf
// CHECK: %[[Q:.+]] = linalg.generic {{.+}} ins(%[[X]], %{{.+}} : tensor<4x64xf16>, tensor<4x1xf32>) outs(%{{.+}} : tensor<4x64xi8>)
// CHECK: %[[P:.+]] = linalg.generic {{.+}} ins(%[[Q]], %[[V]] : tensor<4x64xi8>, tensor<64x32xi8>) outs(%{{.+}} : tensor<4x32xf32>)
// CHECK: arith.extf %{{.+}} : f8E4M3FN to f32
// CHECK: %[[R:.+]] = linalg.generic {{.+}} ins(%[[P]], %{{.+}}, %{{.+}} : tensor<4x32xf32>, tensor<4x1xf32>, tensor<1x32xf32>)
// CHECK: return %[[R]]
func.func @main(%x: tensor<4x64xf16>, %w: tensor<64x32xf16> {xyntra.parameter = "w"}) -> tensor<4x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x32xf32>
  %z = linalg.generic {indexing_maps = [#id2], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x32xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<4x32xf32>
  %p = linalg.generic {indexing_maps = [#a, #w, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x64xf16>, tensor<64x32xf16>) outs(%z : tensor<4x32xf32>) {
  ^bb0(%l: f16, %r: f16, %acc: f32):
    %i = arith.extf %l : f16 to f32
    %j = arith.extf %r : f16 to f32
    %m = arith.mulf %i, %j : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x32xf32>
  return %p : tensor<4x32xf32>
}

// What samples say of a factor gives one scale, a power of two, for all of its rows.
// CHECK-LABEL: func.func @samples(
// CHECK-SAME: %[[X:.+]]: tensor<4x64xf16>
// CHECK: %[[Q:.+]] = linalg.generic {{.+}} ins(%[[X]] : tensor<4x64xf16>) outs(%{{.+}} : tensor<4x64xi8>)
// CHECK: %[[P:.+]] = linalg.generic {{.+}} ins(%[[Q]], %{{.+}} : tensor<4x64xi8>, tensor<64x32xi8>) outs(%{{.+}} : tensor<4x32xf32>)
// CHECK-NOT: xyntra.factors
// CHECK: linalg.generic {{.+}} ins(%[[P]], %{{.+}} : tensor<4x32xf32>, tensor<1x32xf32>)
// CHECK: arith.mulf %{{.+}}, %{{.+}} : f32
// CHECK: return
func.func @samples(%x: tensor<4x64xf16>, %w: tensor<64x32xf16> {xyntra.parameter = "w"}) -> tensor<4x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x32xf32>
  %z = linalg.generic {indexing_maps = [#id2], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x32xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<4x32xf32>
  %p = linalg.generic {indexing_maps = [#a, #w, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x64xf16>, tensor<64x32xf16>) outs(%z : tensor<4x32xf32>) attrs = {xyntra.factors = array<f32: 8.0, 0.0>} {
  ^bb0(%l: f16, %r: f16, %acc: f32):
    %i = arith.extf %l : f16 to f32
    %j = arith.extf %r : f16 to f32
    %m = arith.mulf %i, %j : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x32xf32>
  return %p : tensor<4x32xf32>
}
