// RUN: %xyntra-opt %s --quantize-products | FileCheck %s
// RUN: %xyntra-opt %s --quantize-products --integer-contractions | FileCheck %s --check-prefix=INTEGERS

#id2 = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// A scale of 0 says that each row has its own: the largest magnitude in it, by 127.
// CHECK: xyntra.precisions = {{\[}}["line {{[0-9]+}}", "int8 by rows", ""]]
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.+]]: tensor<4x64xf32>, %[[W:.+]]: tensor<64x32xf32>
// CHECK: linalg.generic {{.+}} ins(%[[X]] : tensor<4x64xf32>) outs(%{{.+}} : tensor<4xf32>)
// CHECK: math.absf
// CHECK: linalg.generic {{.+}} ins(%[[X]], %{{.+}} : tensor<4x64xf32>, tensor<4x1xf32>) outs(%{{.+}} : tensor<4x64xi8>)
// CHECK: math.roundeven

// INTEGERS: linalg.generic {{.+}} ins(%{{.+}}, %{{.+}} : tensor<4x64xi8>, tensor<64x32xi8>) outs(%{{.+}} : tensor<4x32xi32>)
module attributes {xyntra.quantization = [[0.0 : f32, -1 : i32, ""]]} {
func.func @main(%x: tensor<4x64xf32>, %w: tensor<64x32xf32> {xyntra.parameter = "w"}) -> tensor<4x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x32xf32>
  %z = linalg.generic {indexing_maps = [#id2], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x32xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<4x32xf32>
  %p = linalg.generic {indexing_maps = [#a, #w, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x64xf32>, tensor<64x32xf32>) outs(%z : tensor<4x32xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x32xf32>
  return %p : tensor<4x32xf32>
}
}
