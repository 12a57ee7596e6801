// RUN: %xyntra-opt %s --round-rows | FileCheck %s
// RUN: %xyntra-opt %s --round-rows=all=true | FileCheck %s --check-prefix=ALL

#none2 = affine_map<(m, n) -> (m, n)>
#low = affine_map<(m, n, b, s) -> (m, b, s, 0)>
#high = affine_map<(m, n, b, s) -> (m, b, s, 1)>
#packed = affine_map<(m, n, b, s) -> (n, b, s)>
#block = affine_map<(m, n, b, s) -> (n, b)>
#result = affine_map<(m, n, b, s) -> (m, n)>

// The product that may be is rewritten: the largest magnitude of each block of a row becomes 127, integers are multiplied, and what a
// block comes to is a float. With `all`, the other product of the same rows is, too, and shares what is rounded.
// CHECK: xyntra.precisions = {{\[}}["line {{[0-9]+}}", "w4a8", ""]]
// CHECK-LABEL: func.func @main(
// CHECK: math.absf
// CHECK: math.roundeven
// CHECK: linalg.generic {{.+}} ins({{.+}} : tensor<1x4x16x2xi8>, tensor<1x4x16x2xi8>, tensor<1x4xf32>, tensor<256x4x16xi8>, tensor<256x4xf16>)
// CHECK: arith.muli
// CHECK: arith.sitofp {{.+}} : i32 to f32
// CHECK: linalg.generic {{.+}} ins({{.+}} : tensor<1x4x16x2xf32>, tensor<1x4x16x2xf32>, tensor<256x4x16xi8>, tensor<256x4xf16>)

// ALL-COUNT-2: "w4a8"
// ALL: math.roundeven
// ALL-NOT: math.roundeven
// ALL-COUNT-2: linalg.generic {{.+}} ins({{.+}} : tensor<1x4x16x2xi8>, tensor<1x4x16x2xi8>
func.func @main(%a: tensor<1x4x16x2xf32>, %w: tensor<256x4x16xi8>, %t: tensor<256x4xf16>) -> (tensor<1x256xf32>, tensor<1x256xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 15 : i8
  %four = arith.constant 4 : i8
  %eight = arith.constant 8 : i32
  %e = tensor.empty() : tensor<1x256xf32>
  %f = linalg.generic {indexing_maps = [#none2], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<1x256xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<1x256xf32>
  %p = linalg.generic {indexing_maps = [#low, #high, #packed, #block, #result], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %a, %w, %t : tensor<1x4x16x2xf32>, tensor<1x4x16x2xf32>, tensor<256x4x16xi8>, tensor<256x4xf16>)
      outs(%f : tensor<1x256xf32>) attrs = {xyntra.rounds_rows} {
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
  } -> tensor<1x256xf32>
  %q = linalg.generic {indexing_maps = [#low, #high, #packed, #block, #result], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %a, %w, %t : tensor<1x4x16x2xf32>, tensor<1x4x16x2xf32>, tensor<256x4x16xi8>, tensor<256x4xf16>)
      outs(%f : tensor<1x256xf32>) {
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
  } -> tensor<1x256xf32>
  return %p, %q : tensor<1x256xf32>, tensor<1x256xf32>
}
