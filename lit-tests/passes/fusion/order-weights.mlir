// RUN: %xyntra-opt %s --order-weights | FileCheck %s

#last = affine_map<(n, h, w, o, c, i, j) -> (n, h + i, w + j, c)>
#first = affine_map<(n, h, w, o, c, i, j) -> (n, c, h + i, w + j)>
#oihw = affine_map<(n, h, w, o, c, i, j) -> (o, c, i, j)>
#ohwi = affine_map<(n, h, w, o, c, i, j) -> (o, i, j, c)>
#y = affine_map<(n, h, w, o, c, i, j) -> (n, h, w, o)>

// CHECK-DAG: #[[OIHW:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>
// CHECK-DAG: #[[OHWI:.+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d5, d6, d4)>
// CHECK-LABEL: func.func @channels_last(
// CHECK-SAME: %[[X:.+]]: tensor<1x6x6x16xf16>, %[[W:.+]]: tensor<8x16x3x3xf16>
// CHECK: %[[T:.+]] = linalg.generic {indexing_maps = [#[[OIHW]], #{{.+}}]{{.+}} ins(%[[W]] : tensor<8x16x3x3xf16>) outs(%{{.+}} : tensor<8x3x3x16xf16>)
// CHECK: linalg.generic {indexing_maps = [#{{.+}}, #[[OHWI]], #{{.+}}]{{.+}} ins(%[[X]], %[[T]] : tensor<1x6x6x16xf16>, tensor<8x3x3x16xf16>)
func.func @channels_last(%x: tensor<1x6x6x16xf16>, %w: tensor<8x16x3x3xf16> {xyntra.parameter = "w"}) -> tensor<1x4x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x4x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  %y = linalg.generic {indexing_maps = [#last, #oihw, #y],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x6x6x16xf16>, tensor<8x16x3x3xf16>) outs(%i : tensor<1x4x4x8xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %p = arith.mulf %u, %v : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x4x4x8xf32>
  return %y : tensor<1x4x4x8xf32>
}
