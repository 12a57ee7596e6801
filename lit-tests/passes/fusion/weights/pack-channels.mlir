// RUN: %xyntra-opt %s --pack-channels | FileCheck %s

#image = affine_map<(n, h, w, o, c, i, j) -> (n, c, h * 2 + i, w * 2 + j)>
#last = affine_map<(n, h, w, o, c, i, j) -> (n, h + i, w + j, c)>
#oihw = affine_map<(n, h, w, o, c, i, j) -> (o, c, i, j)>
#id = affine_map<(n, c, h, w) -> (n, c, h, w)>
#y = affine_map<(n, h, w, o, c, i, j) -> (n, h, w, o)>

// CHECK-DAG: #[[IMAGE:.+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 2 + d5, d2 * 2 + d6, d4)>
// CHECK-DAG: #[[LAST:.+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d5, d2 + d6, d4)>
// CHECK-DAG: #[[OHWI:.+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d5, d6, d4)>

// Steps of two pixels of four channels are sixteen bytes. Rows of the image and of the filter are
// made so long that they are multiples of that; the padding becomes part of the new image.
// CHECK-LABEL: func.func @three_channels(
// CHECK-SAME: %[[X:.+]]: tensor<1x3x10x10xf16>, %[[W:.+]]: tensor<8x3x3x3xf16>
// CHECK: %[[E:.+]] = tensor.empty() : tensor<1x12x12x4xf16>
// CHECK: %[[P:.+]] = linalg.generic {{.+}} outs(%[[E]] : tensor<1x12x12x4xf16>)
// CHECK: tensor.extract %[[X]]
// CHECK: arith.select
// CHECK: tensor.pad %{{.+}} low[0, 0, 0, 0] high[0, 0, 1, 1]
// CHECK: %[[F:.+]] = tensor.extract_slice %{{.+}}[0, 0, 0, 0] [8, 3, 3, 4] [1, 1, 1, 1] : tensor<8x3x4x4xf16> to tensor<8x3x3x4xf16>
// CHECK: linalg.generic {indexing_maps = [#[[IMAGE]], #[[OHWI]], #{{.+}}]{{.+}} ins(%[[P]], %[[F]] : tensor<1x12x12x4xf16>, tensor<8x3x3x4xf16>)
// CHECK-NOT: tensor.pad %[[X]]
func.func @three_channels(%x: tensor<1x3x10x10xf16>, %w: tensor<8x3x3x3xf16> {xyntra.parameter = "w"}) -> tensor<1x5x5x8xf32> {
  %zero = arith.constant 0.0 : f32
  %h = arith.constant 0.0 : f16
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%n: index, %c: index, %i: index, %j: index):
    tensor.yield %h : f16
  } : tensor<1x3x10x10xf16> to tensor<1x3x12x12xf16>
  %e = tensor.empty() : tensor<1x5x5x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x5x5x8xf32>) -> tensor<1x5x5x8xf32>
  %y = linalg.generic {indexing_maps = [#image, #oihw, #y],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%p, %w : tensor<1x3x12x12xf16>, tensor<8x3x3x3xf16>) outs(%i : tensor<1x5x5x8xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x5x5x8xf32>
  return %y : tensor<1x5x5x8xf32>
}

// What is rounded to 16 bits for it is rounded while it is packed.
// CHECK-LABEL: func.func @rounded_image(
// CHECK-SAME: %[[X:.+]]: tensor<1x3x10x10xf32>
// CHECK: linalg.generic {{.+}} outs(%{{.+}} : tensor<1x12x12x4xf16>)
// CHECK: %[[V:.+]] = tensor.extract %[[X]]
// CHECK: arith.truncf %[[V]] : f32 to f16
// CHECK-NOT: tensor.pad %[[X]]
func.func @rounded_image(%x: tensor<1x3x10x10xf32>, %w: tensor<8x3x3x3xf16> {xyntra.parameter = "w"}) -> tensor<1x5x5x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<1x3x12x12xf16>
  %p0 = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%n: index, %c: index, %i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<1x3x10x10xf32> to tensor<1x3x12x12xf32>
  %p = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%p0 : tensor<1x3x12x12xf32>) outs(%e0 : tensor<1x3x12x12xf16>) {
  ^bb0(%a: f32, %o: f16):
    %t = arith.truncf %a : f32 to f16
    linalg.yield %t : f16
  } -> tensor<1x3x12x12xf16>
  %e = tensor.empty() : tensor<1x5x5x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x5x5x8xf32>) -> tensor<1x5x5x8xf32>
  %y = linalg.generic {indexing_maps = [#image, #oihw, #y],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%p, %w : tensor<1x3x12x12xf16>, tensor<8x3x3x3xf16>) outs(%i : tensor<1x5x5x8xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x5x5x8xf32>
  return %y : tensor<1x5x5x8xf32>
}

// Single steps take eight channels; these are last already.
// CHECK-LABEL: func.func @steps_of_one(
// CHECK: outs(%{{.+}} : tensor<1x6x6x8xbf16>)
// CHECK-NOT: tensor.extract_slice
// CHECK: linalg.generic {indexing_maps = [#[[LAST]], #[[OHWI]], #{{.+}}]{{.+}} : tensor<1x6x6x8xbf16>, tensor<16x3x3x8xbf16>)
func.func @steps_of_one(%x: tensor<1x6x6x5xbf16>, %w: tensor<16x5x3x3xbf16> {xyntra.parameter = "w"}) -> tensor<1x4x4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x4x16xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4x16xf32>) -> tensor<1x4x4x16xf32>
  %y = linalg.generic {indexing_maps = [#last, #oihw, #y],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x6x6x5xbf16>, tensor<16x5x3x3xbf16>) outs(%i : tensor<1x4x4x16xf32>) {
  ^bb0(%a: bf16, %b: bf16, %o: f32):
    %u = arith.extf %a : bf16 to f32
    %v = arith.extf %b : bf16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x4x4x16xf32>
  return %y : tensor<1x4x4x16xf32>
}
