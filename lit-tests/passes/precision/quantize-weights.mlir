// RUN: %xyntra-opt %s --quantize-weights=bits=4 | FileCheck %s
// RUN: %xyntra-opt %s --quantize-weights=bits=8 | FileCheck %s --check-prefix=EIGHT

#id3 = affine_map<(b, m, n) -> (b, m, n)>
#a = affine_map<(b, m, n, k) -> (b, m, k)>
#w = affine_map<(b, m, n, k) -> (k, n)>
#c = affine_map<(b, m, n, k) -> (b, m, n)>

// A weight [K, N] becomes integers of N rows, two in a byte, scales and zero points, which are made when the model is loaded. Steps
// that do not fill the last block are padded.
// CHECK: xyntra.precisions = {{\[}}["line {{[0-9]+}}", "w4", ""], ["weight t", "f16", ""]]
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

#low = affine_map<(m, n, b, s) -> (m, b, s, 0)>
#high = affine_map<(m, n, b, s) -> (m, b, s, 1)>
#packed = affine_map<(m, n, b, s) -> (n, b, s)>
#block = affine_map<(m, n, b, s) -> (n, b)>
#result = affine_map<(m, n, b, s) -> (m, n)>

// A weight that is packed already has scales of f16 afterwards.
// CHECK-LABEL: func.func @packed(
// CHECK-SAME: tensor<1024xf16> {xyntra.dtype = "float16", xyntra.parameter = "t", xyntra.rounded = "float32"}
// CHECK: %[[T:.+]] = tensor.expand_shape {{.+}} : tensor<1024xf16> into tensor<256x4xf16>
// CHECK: linalg.generic {{.+}} ins({{.+}}, %[[T]] : tensor<1x4x16x2xf32>, tensor<1x4x16x2xf32>, tensor<256x4x16xi8>, tensor<256x4xf16>)
// CHECK-SAME: attrs = {xyntra.rounds_rows}
// CHECK: arith.extf {{.+}} : f16 to f32
func.func @packed(%a: tensor<1x4x16x2xf32>, %w: tensor<256x4x16xi8> {xyntra.parameter = "w", xyntra.dtype = "uint8"}, %g: tensor<1024xf32> {xyntra.parameter = "t", xyntra.dtype = "float32"}) -> tensor<1x256xf32> {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 15 : i8
  %four = arith.constant 4 : i8
  %eight = arith.constant 8 : i32
  %t = tensor.expand_shape %g [[0, 1]] output_shape [256, 4] : tensor<1024xf32> into tensor<256x4xf32>
  %e = tensor.empty() : tensor<1x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x256xf32>) -> tensor<1x256xf32>
  %p = linalg.generic {indexing_maps = [#low, #high, #packed, #block, #result], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %a, %w, %t : tensor<1x4x16x2xf32>, tensor<1x4x16x2xf32>, tensor<256x4x16xi8>, tensor<256x4xf32>)
      outs(%f : tensor<1x256xf32>) attrs = {xyntra.rounds_rows} {
  ^bb0(%x: f32, %y: f32, %byte: i8, %scale: f32, %o: f32):
    %l = arith.andi %byte, %lowest : i8
    %h = arith.shrui %byte, %four : i8
    %l1 = arith.extui %l : i8 to i32
    %l2 = arith.subi %l1, %eight : i32
    %l3 = arith.sitofp %l2 : i32 to f32
    %l4 = arith.mulf %l3, %scale : f32
    %h1 = arith.extui %h : i8 to i32
    %h2 = arith.subi %h1, %eight : i32
    %h3 = arith.sitofp %h2 : i32 to f32
    %h4 = arith.mulf %h3, %scale : f32
    %first = arith.mulf %x, %l4 : f32
    %second = arith.mulf %y, %h4 : f32
    %both = arith.addf %first, %second : f32
    %s = arith.addf %o, %both : f32
    linalg.yield %s : f32
  } -> tensor<1x256xf32>
  return %p : tensor<1x256xf32>
}
