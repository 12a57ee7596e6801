// RUN: %xyntra-opt %s --round-rows=all=true | FileCheck %s

// More rows than 8 meet a weight that is dequantized once for all of them.
// CHECK-NOT: xyntra.precisions
// CHECK-LABEL: func.func @main(
// CHECK-NOT: math.roundeven
// CHECK: linalg.generic {{.+}} ins({{.+}} : tensor<9x4x16x2xf32>, tensor<9x4x16x2xf32>, tensor<256x4x16xi8>, tensor<256x4xf16>)

#none2 = affine_map<(m, n) -> (m, n)>
#low = affine_map<(m, n, b, s) -> (m, b, s, 0)>
#high = affine_map<(m, n, b, s) -> (m, b, s, 1)>
#packed = affine_map<(m, n, b, s) -> (n, b, s)>
#block = affine_map<(m, n, b, s) -> (n, b)>
#result = affine_map<(m, n, b, s) -> (m, n)>


func.func @main(%a: tensor<9x4x16x2xf32>, %w: tensor<256x4x16xi8>, %t: tensor<256x4xf16>) -> tensor<9x256xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 15 : i8
  %four = arith.constant 4 : i8
  %eight = arith.constant 8 : i32
  %e = tensor.empty() : tensor<9x256xf32>
  %f = linalg.generic {indexing_maps = [#none2], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<9x256xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<9x256xf32>
  %p = linalg.generic {indexing_maps = [#low, #high, #packed, #block, #result], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %a, %w, %t : tensor<9x4x16x2xf32>, tensor<9x4x16x2xf32>, tensor<256x4x16xi8>, tensor<256x4xf16>)
      outs(%f : tensor<9x256xf32>) {
  ^bb0(%x: f32, %y: f32, %byte: i8, %narrow: f16, %o: f32):
    %scale = arith.extf %narrow : f16 to f32
    %l = arith.andi %byte, %low : i8
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
  } -> tensor<9x256xf32>
  return %p : tensor<9x256xf32>
}
