// RUN: %xyntra-opt %s --quantize-products | FileCheck %s
// RUN: %xyntra-opt %s --quantize-products --integer-contractions | FileCheck %s --check-prefix=INTEGERS
// RUN: %xyntra-opt %s --quantize-products=switches=true | FileCheck %s --check-prefix=SWITCHES

#id2 = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// The factor that a call computes becomes unsigned integers with the scale and the zero point of the attribute, the weight signed ones
// with a scale for each column. Both are dequantized, and the product stays one of f32; the other one is left alone.
// CHECK: xyntra.precisions = {{\[}}["line {{[0-9]+}}", "int8", ""], ["line {{[0-9]+}}", "f32", "by decision"]]
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.+]]: tensor<4x64xf32>, %[[W:.+]]: tensor<64x32xf32>
// CHECK: linalg.generic {{.+}} ins(%[[X]] : tensor<4x64xf32>) outs(%{{.+}} : tensor<4x64xi8>)
// CHECK: math.roundeven
// CHECK: linalg.generic {{.+}} outs(%{{.+}} : tensor<4x64xf32>)
// CHECK: arith.extui
// CHECK: math.absf
// CHECK: linalg.generic {{.+}} ins(%[[W]], %{{.+}} : tensor<64x32xf32>, tensor<1x32xf32>) outs(%{{.+}} : tensor<64x32xi8>)
// CHECK: arith.extsi
// CHECK: linalg.generic {{.+}} ins(%{{.+}}, %{{.+}} : tensor<4x64xf32>, tensor<64x32xf32>)

// INTEGERS: linalg.generic {{.+}} ins(%{{.+}}, %{{.+}} : tensor<4x64xi8>, tensor<64x32xi8>) outs(%{{.+}} : tensor<4x32xi32>)

// SWITCHES-LABEL: func.func @main(
// SWITCHES-SAME: %[[S:[a-z0-9]+]]: tensor<2xf32> {xyntra.input = "xyntra.switches"}
// SWITCHES: linalg.generic {{.+}} ins(%{{.+}}, %{{.+}}, %{{.+}}, %[[S]] : tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<2xf32>)
// SWITCHES: arith.select
module attributes {xyntra.quantization = [[0.02 : f32, 128 : i32, ""], [1.0 : f32, 0 : i32, "by decision"]]} {
func.func @main(%x: tensor<4x64xf32>, %w: tensor<64x32xf32> {xyntra.parameter = "w"}) -> (tensor<4x32xf32>, tensor<4x32xf32>) {
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
  %q = linalg.generic {indexing_maps = [#a, #w, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x64xf32>, tensor<64x32xf32>) outs(%z : tensor<4x32xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x32xf32>
  return %p, %q : tensor<4x32xf32>, tensor<4x32xf32>
}
}
