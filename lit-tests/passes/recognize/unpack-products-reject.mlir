// RUN: %xyntra-opt %s --unpack-products | FileCheck %s

#id2 = affine_map<(m, n) -> (m, n)>
#x = affine_map<(m, n, b, s) -> (m, b, s, 0)>
#y = affine_map<(m, n, b, s) -> (m, b, s, 1)>
#w = affine_map<(m, n, b, s) -> (n, b, s)>
#p = affine_map<(m, n, b, s) -> (n, b)>
#c = affine_map<(m, n, b, s) -> (m, n)>

// Few rows read the packed weight.
// CHECK-LABEL: func.func @main(
// CHECK: linalg.generic {{.+}} tensor<64x4x16xi8>
// CHECK: arith.shrui
// CHECK-NOT: arith.select
func.func @main(%a: tensor<16x4x16x2xf16>, %w: tensor<64x4x16xi8>, %scales: tensor<64x4xf16>) -> tensor<16x64xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 15 : i8
  %four = arith.constant 4 : i8
  %eight = arith.constant 8 : i32
  %e = tensor.empty() : tensor<16x64xf32>
  %z = linalg.generic {indexing_maps = [#id2], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<16x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<16x64xf32>
  %r = linalg.generic {indexing_maps = [#x, #y, #w, #p, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %a, %w, %scales : tensor<16x4x16x2xf16>, tensor<16x4x16x2xf16>, tensor<64x4x16xi8>, tensor<64x4xf16>) outs(%z : tensor<16x64xf32>) {
  ^bb0(%x: f16, %y: f16, %byte: i8, %scale: f16, %o: f32):
    %t = arith.extf %scale : f16 to f32
    %l = arith.andi %byte, %low : i8
    %h = arith.shrui %byte, %four : i8
    %l1 = arith.extui %l : i8 to i32
    %l2 = arith.subi %l1, %eight : i32
    %l3 = arith.sitofp %l2 : i32 to f32
    %l4 = arith.mulf %l3, %t : f32
    %h1 = arith.extui %h : i8 to i32
    %h2 = arith.subi %h1, %eight : i32
    %h3 = arith.sitofp %h2 : i32 to f32
    %h4 = arith.mulf %h3, %t : f32
    %x1 = arith.extf %x : f16 to f32
    %first = arith.mulf %x1, %l4 : f32
    %y1 = arith.extf %y : f16 to f32
    %second = arith.mulf %y1, %h4 : f32
    %both = arith.addf %first, %second : f32
    %s = arith.addf %o, %both : f32
    linalg.yield %s : f32
  } -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}

// What is dequantized in another way is no such weight.
// CHECK-LABEL: func.func @other(
// CHECK: linalg.generic {{.+}} tensor<64x4x16xi8>
// CHECK: arith.shrui
// CHECK-NOT: arith.select
func.func @other(%a: tensor<32x4x16x2xf16>, %w: tensor<64x4x16xi8>, %scales: tensor<64x4xf16>) -> tensor<32x64xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 15 : i8
  %four = arith.constant 4 : i8
  %eight = arith.constant 7 : i32
  %e = tensor.empty() : tensor<32x64xf32>
  %z = linalg.generic {indexing_maps = [#id2], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<32x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<32x64xf32>
  %r = linalg.generic {indexing_maps = [#x, #y, #w, #p, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %a, %w, %scales : tensor<32x4x16x2xf16>, tensor<32x4x16x2xf16>, tensor<64x4x16xi8>, tensor<64x4xf16>) outs(%z : tensor<32x64xf32>) {
  ^bb0(%x: f16, %y: f16, %byte: i8, %scale: f16, %o: f32):
    %t = arith.extf %scale : f16 to f32
    %l = arith.andi %byte, %low : i8
    %h = arith.shrui %byte, %four : i8
    %l1 = arith.extui %l : i8 to i32
    %l2 = arith.subi %l1, %eight : i32
    %l3 = arith.sitofp %l2 : i32 to f32
    %l4 = arith.mulf %l3, %t : f32
    %h1 = arith.extui %h : i8 to i32
    %h2 = arith.subi %h1, %eight : i32
    %h3 = arith.sitofp %h2 : i32 to f32
    %h4 = arith.mulf %h3, %t : f32
    %x1 = arith.extf %x : f16 to f32
    %first = arith.mulf %x1, %l4 : f32
    %y1 = arith.extf %y : f16 to f32
    %second = arith.mulf %y1, %h4 : f32
    %both = arith.addf %first, %second : f32
    %s = arith.addf %o, %both : f32
    linalg.yield %s : f32
  } -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}
