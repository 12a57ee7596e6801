// RUN: %xyntra-opt %s --quantize-weights=bits=4 | FileCheck %s
// RUN: %xyntra-opt %s --quantize-weights=bits=8 | FileCheck %s --check-prefix=EIGHT

#id3 = affine_map<(b, m, n) -> (b, m, n)>
#a = affine_map<(b, m, n, k) -> (b, m, k)>
#w = affine_map<(b, m, n, k) -> (k, n)>
#c = affine_map<(b, m, n, k) -> (b, m, n)>

// A weight [K, N] becomes integers of N rows, two in a byte, scales and zero points, which are made when the model is loaded. Steps
// that do not fill the last block are padded.
// CHECK: xyntra.precisions = {{\[}}["line {{[0-9]+}}", "w4", ""]]
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.+]]: tensor<2x3x130xf32>, %[[W:.+]]: tensor<160x5x16xi8> {xyntra.dtype = "uint8", xyntra.parameter = "w#w4.integers", xyntra.part = "w4.integers.130x160.turned", xyntra.quantized_from = "w"}
// CHECK-SAME: %[[S:.+]]: tensor<160x5xf16> {{.+}} "w4.scales.130x160.turned"
// CHECK-SAME: %[[Z:.+]]: tensor<160x5xi8> {{.+}} "w4.zeros.130x160.turned"
// CHECK: %[[ROWS:.+]] = tensor.pad
// CHECK: linalg.generic {{.+}} ins({{.+}}, %[[W]], %[[S]], %[[Z]] : tensor<6x5x16x2xf32>, tensor<6x5x16x2xf32>, tensor<160x5x16xi8>, tensor<160x5xf16>, tensor<160x5xi8>)
// CHECK: arith.andi
// CHECK: arith.shrui

// EIGHT: "w8"
// EIGHT-LABEL: func.func @main(
// EIGHT-SAME: tensor<160x5x32xi8>
// EIGHT-SAME: tensor<160x5xf16>
// EIGHT-NOT: zeros
// EIGHT: linalg.generic {{.+}} tensor<6x5x32xf32>, tensor<160x5x32xi8>, tensor<160x5xf16>)
func.func @main(%x: tensor<2x3x130xf32>, %w: tensor<130x160xf32> {xyntra.parameter = "w", xyntra.dtype = "float32"}) -> tensor<2x3x160xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x160xf32>
  %z = linalg.generic {indexing_maps = [#id3], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<2x3x160xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<2x3x160xf32>
  %p = linalg.generic {indexing_maps = [#a, #w, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<2x3x130xf32>, tensor<130x160xf32>) outs(%z : tensor<2x3x160xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x3x160xf32>
  return %p : tensor<2x3x160xf32>
}
