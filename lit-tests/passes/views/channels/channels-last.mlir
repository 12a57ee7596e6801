// RUN: %xyntra-opt %s --channels-last --canonicalize | FileCheck %s
// RUN: %xyntra-opt %s --channels-last=target=cuda --canonicalize | FileCheck %s --check-prefix=CUDA

#id = affine_map<(n, c, y, x) -> (n, c, y, x)>
#read = affine_map<(n, m, y, x, c, i, j) -> (n, c, y + i, x + j)>
#weight = affine_map<(n, m, y, x, c, i, j) -> (m, c, i, j)>
#write = affine_map<(n, m, y, x, c, i, j) -> (n, m, y, x)>
#by_channel = affine_map<(n, c, y, x) -> (c)>
#sum = affine_map<(n, c, y, x) -> (n, c)>

// CHECK: #[[IMAGE:.+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d1 + d5, d2 + d6)>
// CHECK: #[[WEIGHT:.+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d4, d5, d6)>
// CHECK: #[[RESULT:.+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
// CHECK: #[[BIAS:.+]] = affine_map<(d0, d1, d2, d3) -> (d3)>
// CHECK: #[[INNER:.+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d5, d2 + d6, d4)>
// CHECK: #[[SUM:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>

// The image is read as it is; everything behind the first convolution has its channels innermost,
// and the sum over positions reads it so.
// CHECK-LABEL: func.func @network(
// CHECK-SAME: %[[X:.+]]: tensor<1x3x34x34xf32>, %[[W:.+]]: tensor<32x3x3x3xf32>,
// CHECK: %[[C:.+]] = linalg.generic {indexing_maps = [#[[IMAGE]], #[[WEIGHT]], #[[RESULT]]]{{.+}} ins(%[[X]], %[[W]] {{.+}}
// CHECK: %[[B:.+]] = linalg.generic {indexing_maps = [#{{.+}}, #[[BIAS]], #{{.+}}]{{.+}} ins(%[[C]],
// CHECK: %[[P:.+]] = tensor.pad %[[B]] low[0, 1, 1, 0] high[0, 1, 1, 0]
// CHECK: %[[D:.+]] = linalg.generic {indexing_maps = [#[[INNER]], #[[WEIGHT]], #[[RESULT]]]{{.+}} ins(%[[P]],
// CHECK-SAME: outs({{.+}} : tensor<1x32x32x16xf32>)
// CHECK: linalg.generic {indexing_maps = [#[[SUM]],{{.+}} ins(%[[D]] : tensor<1x32x32x16xf32>) outs({{.+}} : tensor<1x16xf32>)
func.func @network(%x: tensor<1x3x34x34xf32>, %w: tensor<32x3x3x3xf32>, %b: tensor<32xf32>, %v: tensor<16x32x3x3xf32>) -> tensor<1x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x32x32x32xf32>
  %f = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%e : tensor<1x32x32x32xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<1x32x32x32xf32>
  %c = linalg.generic {indexing_maps = [#read, #weight, #write], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<1x3x34x34xf32>, tensor<32x3x3x3xf32>) outs(%f : tensor<1x32x32x32xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x32x32x32xf32>
  %a = linalg.generic {indexing_maps = [#id, #by_channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%c, %b : tensor<1x32x32x32xf32>, tensor<32xf32>) outs(%e : tensor<1x32x32x32xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<1x32x32x32xf32>
  %p = tensor.pad %a low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i0: index, %i1: index, %i2: index, %i3: index):
    tensor.yield %zero : f32
  } : tensor<1x32x32x32xf32> to tensor<1x32x34x34xf32>
  %e2 = tensor.empty() : tensor<1x16x32x32xf32>
  %f2 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%e2 : tensor<1x16x32x32xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<1x16x32x32xf32>
  %d = linalg.generic {indexing_maps = [#read, #weight, #write], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %v : tensor<1x32x34x34xf32>, tensor<16x32x3x3xf32>) outs(%f2 : tensor<1x16x32x32xf32>) {
  ^bb0(%l: f32, %q: f32, %o: f32):
    %m = arith.mulf %l, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x16x32x32xf32>
  %e3 = tensor.empty() : tensor<1x16xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<1x16xf32>) -> tensor<1x16xf32>
  %r = linalg.generic {indexing_maps = [#id, #sum], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%d : tensor<1x16x32x32xf32>) outs(%f3 : tensor<1x16xf32>) {
  ^bb0(%l: f32, %o: f32):
    %s = arith.addf %o, %l : f32
    linalg.yield %s : f32
  } -> tensor<1x16xf32>
  return %r : tensor<1x16xf32>
}

#pool = affine_map<(n, c, y, x, i, j) -> (n, c, y * 2 + i, x * 2 + j)>
#taps = affine_map<(n, c, y, x, i, j) -> (i, j)>
#pooled = affine_map<(n, c, y, x, i, j) -> (n, c, y, x)>
#up = affine_map<(n, c, y, x) -> (n, c, y floordiv 2, x floordiv 2)>

// What slides over each channel, resizes and concatenates follows its neighbours.
// CHECK-LABEL: func.func @follow(
// CHECK: %[[M:.+]] = linalg.generic {{.+}} outs({{.+}} : tensor<1x16x16x64xf32>)
// CHECK: %[[U:.+]] = linalg.generic {{.+}} ins(%[[M]] : tensor<1x16x16x64xf32>) outs({{.+}} : tensor<1x32x32x64xf32>)
// CHECK: tensor.insert_slice %[[U]] into {{.+}}[0, 0, 0, 0] [1, 32, 32, 64] [1, 1, 1, 1] : tensor<1x32x32x64xf32> into tensor<1x32x32x128xf32>
// CHECK: tensor.insert_slice {{.+}}[0, 0, 0, 64] [1, 32, 32, 64] [1, 1, 1, 1]
func.func @follow(%x: tensor<1x64x32x32xf32>, %w: tensor<8x128xf32>, %t: tensor<64x64xf32>) -> tensor<1x8x32x32xf32> {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<1x64x32x32xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<1x64x32x32xf32>) -> tensor<1x64x32x32xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(n, m, y, x, c) -> (n, c, y, x)>, affine_map<(n, m, y, x, c) -> (m, c)>, affine_map<(n, m, y, x, c) -> (n, m, y, x)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x, %t : tensor<1x64x32x32xf32>, tensor<64x64xf32>) outs(%f0 : tensor<1x64x32x32xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x64x32x32xf32>
  %k = tensor.empty() : tensor<2x2xf32>
  %e = tensor.empty() : tensor<1x64x16x16xf32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<1x64x16x16xf32>) -> tensor<1x64x16x16xf32>
  %m = linalg.generic {indexing_maps = [#pool, #taps, #pooled], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%c, %k : tensor<1x64x32x32xf32>, tensor<2x2xf32>) outs(%f : tensor<1x64x16x16xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.maximumf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x64x16x16xf32>
  %e2 = tensor.empty() : tensor<1x64x32x32xf32>
  %u = linalg.generic {indexing_maps = [#up, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%m : tensor<1x64x16x16xf32>) outs(%e2 : tensor<1x64x32x32xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<1x64x32x32xf32>
  %e3 = tensor.empty() : tensor<1x128x32x32xf32>
  %i = tensor.insert_slice %u into %e3[0, 0, 0, 0] [1, 64, 32, 32] [1, 1, 1, 1] : tensor<1x64x32x32xf32> into tensor<1x128x32x32xf32>
  %j = tensor.insert_slice %c into %i[0, 64, 0, 0] [1, 64, 32, 32] [1, 1, 1, 1] : tensor<1x64x32x32xf32> into tensor<1x128x32x32xf32>
  %e4 = tensor.empty() : tensor<1x8x32x32xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<1x8x32x32xf32>) -> tensor<1x8x32x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, m, y, x, c) -> (n, c, y, x)>, affine_map<(n, m, y, x, c) -> (m, c)>, affine_map<(n, m, y, x, c) -> (n, m, y, x)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%j, %w : tensor<1x128x32x32xf32>, tensor<8x128xf32>) outs(%f4 : tensor<1x8x32x32xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %n = arith.mulf %p, %q : f32
    %s = arith.addf %o, %n : f32
    linalg.yield %s : f32
  } -> tensor<1x8x32x32xf32>
  return %r : tensor<1x8x32x32xf32>
}

// What is returned in its own order beside a reshape of it, which changes another operand of the return.
// CHECK-LABEL: @returned_and_reshaped
// CHECK: %[[R:.+]] = linalg.generic {{.+}} ins({{.+}} : tensor<4x9x1x1xf32>, tensor<9x9xf32>)
// CHECK: return %{{.+}}, %{{.+}} : tensor<4x9x1x1xf32>, tensor<4x9x1xf32>
func.func @returned_and_reshaped(%x: tensor<4x9x1x1xf32>, %w: tensor<9x9xf32>) -> (tensor<4x9x1x1xf32>, tensor<4x9x1xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x9x1x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x9x1x1xf32>) -> tensor<4x9x1x1xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, m, y, x, c) -> (n, c, y, x)>, affine_map<(n, m, y, x, c) -> (m, c)>, affine_map<(n, m, y, x, c) -> (n, m, y, x)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x9x1x1xf32>, tensor<9x9xf32>) outs(%f : tensor<4x9x1x1xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x9x1x1xf32>
  %c = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<4x9x1x1xf32> into tensor<4x9x1xf32>
  return %r, %c : tensor<4x9x1x1xf32>, tensor<4x9x1xf32>
}

#y = affine_map<(n, c, y, x) -> (y)>

// A resize by positions follows the convolutions around it, whatever it computes of its positions.
// CHECK-LABEL: func.func @sampled(
// CHECK: %[[C:.+]] = linalg.generic {{.+}} outs({{.+}} : tensor<1x30x30x64xf32>)
// CHECK: %[[U:.+]] = linalg.generic {{.+}} outs({{.+}} : tensor<1x40x30x64xf32>)
// CHECK: %[[M:.+]] = linalg.index 3
// CHECK: %[[X:.+]] = linalg.index 2
// CHECK: tensor.extract %[[C]][%{{.+}}, %{{.+}}, %[[X]], %[[M]]] : tensor<1x30x30x64xf32>
// CHECK: linalg.generic {{.+}} ins(%[[U]],
func.func @sampled(%a: tensor<1x16x32x32xf32>, %v: tensor<64x16x3x3xf32>, %w: tensor<64x64x3x3xf32>, %p: tensor<40xi32>) -> tensor<1x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x64x30x30xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x64x30x30xf32>) -> tensor<1x64x30x30xf32>
  %c = linalg.generic {indexing_maps = [#read, #weight, #write], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %v : tensor<1x16x32x32xf32>, tensor<64x16x3x3xf32>) outs(%f : tensor<1x64x30x30xf32>) {
  ^bb0(%l: f32, %q: f32, %o: f32):
    %m = arith.mulf %l, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x64x30x30xf32>
  %e1 = tensor.empty() : tensor<1x64x40x30xf32>
  %u = linalg.generic {indexing_maps = [#y, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%p : tensor<40xi32>) outs(%e1 : tensor<1x64x40x30xf32>) {
  ^bb0(%k: i32, %o: f32):
    %n = linalg.index 0 : index
    %m = linalg.index 1 : index
    %x = linalg.index 3 : index
    %i = arith.index_cast %k : i32 to index
    %s = tensor.extract %c[%n, %m, %i, %x] : tensor<1x64x30x30xf32>
    linalg.yield %s : f32
  } -> tensor<1x64x40x30xf32>
  %e2 = tensor.empty() : tensor<1x64x38x28xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<1x64x38x28xf32>) -> tensor<1x64x38x28xf32>
  %d = linalg.generic {indexing_maps = [#read, #weight, #write], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%u, %w : tensor<1x64x40x30xf32>, tensor<64x64x3x3xf32>) outs(%f2 : tensor<1x64x38x28xf32>) {
  ^bb0(%l: f32, %q: f32, %o: f32):
    %m = arith.mulf %l, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x64x38x28xf32>
  %e3 = tensor.empty() : tensor<1x64xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<1x64xf32>) -> tensor<1x64xf32>
  %r = linalg.generic {indexing_maps = [#id, #sum], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%d : tensor<1x64x38x28xf32>) outs(%f3 : tensor<1x64xf32>) {
  ^bb0(%l: f32, %o: f32):
    %s = arith.addf %o, %l : f32
    linalg.yield %s : f32
  } -> tensor<1x64xf32>
  return %r : tensor<1x64xf32>
}

// Copies bring what tiles multiply, and windows along the innermost dimension would be loaded one by
// one, in more time than it takes to turn the image.
// CUDA-LABEL: func.func @windows_in_rows(
// CUDA: %[[P:.+]] = tensor.pad %{{.+}} low[0, 0, 2, 0] high[0, 0, 2, 0]
// CUDA: linalg.generic {{.+}} ins(%[[P]], %arg1 : tensor<1x128x132x16xf16>, tensor<16x16x5xf16>)
func.func @windows_in_rows(%x: tensor<1x16x128x128xf16>, %w: tensor<16x16x5xf16>) -> tensor<1x16x128x128xf32> {
  %none = arith.constant 0.0 : f16
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 0, 2] high[0, 0, 0, 2] {
  ^bb0(%i0: index, %i1: index, %i2: index, %i3: index):
    tensor.yield %none : f16
  } : tensor<1x16x128x128xf16> to tensor<1x16x128x132xf16>
  %e = tensor.empty() : tensor<1x16x128x128xf32>
  %f = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%e : tensor<1x16x128x128xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<1x16x128x128xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(n, m, y, x, c, j) -> (n, c, y, x + j)>, affine_map<(n, m, y, x, c, j) -> (m, c, j)>, affine_map<(n, m, y, x, c, j) -> (n, m, y, x)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %w : tensor<1x16x128x132xf16>, tensor<16x16x5xf16>) outs(%f : tensor<1x16x128x128xf32>) {
  ^bb0(%l: f16, %q: f16, %o: f32):
    %u = arith.extf %l : f16 to f32
    %v = arith.extf %q : f16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x16x128x128xf32>
  return %y : tensor<1x16x128x128xf32>
}
