// RUN: %xyntra-opt %s --order-weights | FileCheck %s

#last = affine_map<(n, h, w, o, c, i, j) -> (n, h + i, w + j, c)>
#first = affine_map<(n, h, w, o, c, i, j) -> (n, c, h + i, w + j)>
#oihw = affine_map<(n, h, w, o, c, i, j) -> (o, c, i, j)>
#ohwi = affine_map<(n, h, w, o, c, i, j) -> (o, i, j, c)>
#y = affine_map<(n, h, w, o, c, i, j) -> (n, h, w, o)>
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

// No channels last in the image.
// CHECK-LABEL: func.func @channels_first(
// CHECK: ins(%{{.+}}, %arg1 : tensor<1x16x6x6xf16>, tensor<8x16x3x3xf16>)
func.func @channels_first(%x: tensor<1x16x6x6xf16>, %w: tensor<8x16x3x3xf16> {xyntra.parameter = "w"}) -> tensor<1x4x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x4x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  %y = linalg.generic {indexing_maps = [#first, #oihw, #y],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x16x6x6xf16>, tensor<8x16x3x3xf16>) outs(%i : tensor<1x4x4x8xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %p = arith.mulf %u, %v : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x4x4x8xf32>
  return %y : tensor<1x4x4x8xf32>
}

// The weights are in order.
// CHECK-LABEL: func.func @in_order(
// CHECK: ins(%{{.+}}, %arg1 : tensor<1x6x6x16xf16>, tensor<8x3x3x16xf16>)
func.func @in_order(%x: tensor<1x6x6x16xf16>, %w: tensor<8x3x3x16xf16> {xyntra.parameter = "w"}) -> tensor<1x4x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x4x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  %y = linalg.generic {indexing_maps = [#last, #ohwi, #y],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x6x6x16xf16>, tensor<8x3x3x16xf16>) outs(%i : tensor<1x4x4x8xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %p = arith.mulf %u, %v : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x4x4x8xf32>
  return %y : tensor<1x4x4x8xf32>
}

// One tap: channels are contiguous in any case.
// CHECK-LABEL: func.func @one_tap(
// CHECK: ins(%{{.+}}, %arg1 : tensor<1x4x4x16xf16>, tensor<8x16x1x1xf16>)
func.func @one_tap(%x: tensor<1x4x4x16xf16>, %w: tensor<8x16x1x1xf16> {xyntra.parameter = "w"}) -> tensor<1x4x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x4x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  %y = linalg.generic {indexing_maps = [#last, #oihw, #y],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x4x4x16xf16>, tensor<8x16x1x1xf16>) outs(%i : tensor<1x4x4x8xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %p = arith.mulf %u, %v : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x4x4x8xf32>
  return %y : tensor<1x4x4x8xf32>
}

// They are no weights, and would be reordered in every call.
// CHECK-LABEL: func.func @computed(
// CHECK: ins(%{{.+}}, %arg1 : tensor<1x6x6x16xf16>, tensor<8x16x3x3xf16>)
func.func @computed(%x: tensor<1x6x6x16xf16>, %w: tensor<8x16x3x3xf16>) -> tensor<1x4x4x8xf32> {
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

// Rows of seven columns do not start where vectors do.
// CHECK-LABEL: func.func @ragged(
// CHECK: ins(%{{.+}}, %arg1 : tensor<4x16xf32>, tensor<7x16xf32>)
func.func @ragged(%x: tensor<4x16xf32>, %w: tensor<7x16xf32> {xyntra.parameter = "w"}) -> tensor<4x7xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x7xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x7xf32>) -> tensor<4x7xf32>
  %p = linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x16xf32>, tensor<7x16xf32>) outs(%i : tensor<4x7xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x7xf32>
  return %p : tensor<4x7xf32>
}

// Rows of 64 columns lie in whole lines of the cache, and so do those of 128 steps.
// CHECK-LABEL: func.func @whole_lines(
// CHECK: ins(%{{.+}}, %arg1 : tensor<4x128xf16>, tensor<128x64xf16>)
func.func @whole_lines(%x: tensor<4x128xf16>, %w: tensor<128x64xf16> {xyntra.parameter = "w"}) -> tensor<4x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x64xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x64xf32>) -> tensor<4x64xf32>
  %p = linalg.generic {indexing_maps = [#mk, affine_map<(m, n, k) -> (k, n)>, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x128xf16>, tensor<128x64xf16>) outs(%i : tensor<4x64xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x64xf32>
  return %p : tensor<4x64xf32>
}
