// RUN: %xyntra-opt %s --check-fusion | FileCheck %s
// RUN: %xyntra-opt %s --check-fusion=target=cuda | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
#columns = affine_map<(d0, d1) -> (d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

// Operations over one space, and what they read from outside at whatever positions.
// CHECK-LABEL: func.func @elementwise
// CHECK: kind = "elementwise"
func.func @elementwise(%x: tensor<8x8xf32>, %b: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0:2 = "xyntra.fused"() ({
    %e = tensor.empty() : tensor<8x8xf32>
    %1 = linalg.generic {indexing_maps = [#turned, #columns, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x, %b : tensor<8x8xf32>, tensor<8xf32>) outs(%e : tensor<8x8xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<8x8xf32>
    %flat = tensor.collapse_shape %1 [[0, 1]] : tensor<8x8xf32> into tensor<64xf32>
    %2 = "xyntra.silu"(%flat) : (tensor<64xf32>) -> tensor<64xf32>
    %square = tensor.expand_shape %2 [[0, 1]] output_shape [8, 8] : tensor<64xf32> into tensor<8x8xf32>
    %3 = "xyntra.silu"(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    "xyntra.yield"(%square, %3) {operandSegmentSizes = array<i32: 2, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 2, 0, 0, 0, 0, 0, 0, 0>} : () -> (tensor<8x8xf32>, tensor<8x8xf32>)
  return %0#0, %0#1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// A mean by rows, subtracted from them; then rows with two numbers of dimensions.
// CHECK-LABEL: func.func @row
// CHECK: kind = "row"
func.func @row(%x: tensor<512x2048xf32>) -> tensor<512x2048xf32> {
  %0 = "xyntra.fused"() ({
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<512x2048xf32>
    %f = tensor.empty() : tensor<512xf32>
    %init = linalg.fill ins(%zero : f32) outs(%f : tensor<512xf32>) -> tensor<512xf32>
    %1 = "xyntra.silu"(%x) : (tensor<512x2048xf32>) -> tensor<512x2048xf32>
    %2 = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
        ins(%1 : tensor<512x2048xf32>) outs(%init : tensor<512xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.addf %p, %o : f32
      linalg.yield %s : f32
    } -> tensor<512xf32>
    %3 = linalg.generic {indexing_maps = [#id, #rows, #id], iterator_types = ["parallel", "parallel"]}
        ins(%1, %2 : tensor<512x2048xf32>, tensor<512xf32>) outs(%e : tensor<512x2048xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.subf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<512x2048xf32>
    %heads = tensor.expand_shape %3 [[0], [1, 2]] output_shape [512, 8, 256] : tensor<512x2048xf32> into tensor<512x8x256xf32>
    %4 = "xyntra.softmax"(%heads) {axis = 2} : (tensor<512x8x256xf32>) -> tensor<512x8x256xf32>
    %flat = tensor.collapse_shape %4 [[0], [1, 2]] : tensor<512x8x256xf32> into tensor<512x2048xf32>
    %half = tensor.extract_slice %flat[0, 1024] [512, 1024] [1, 1] : tensor<512x2048xf32> to tensor<512x1024xf32>
    %5 = tensor.concat dim(1) %half, %half : (tensor<512x1024xf32>, tensor<512x1024xf32>) -> tensor<512x2048xf32>
    "xyntra.yield"(%5) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<512x2048xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<512x2048xf32>
  return %0 : tensor<512x2048xf32>
}

// A small tensor may be one row.
// CHECK-LABEL: func.func @small
// CHECK: kind = "row"
func.func @small(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = "xyntra.fused"() ({
    %1 = "xyntra.softmax"(%x) {axis = 1} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = "xyntra.softmax"(%1) {axis = 0} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    "xyntra.yield"(%2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8x8xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// A reduction over columns on its own has rows of no use to anybody, and needs none.
// CHECK-LABEL: func.func @alone
// CHECK: kind = "row"
func.func @alone(%x: tensor<4096x4096xf32>) -> tensor<4096xf32> {
  %0 = "xyntra.fused"() ({
    %zero = arith.constant 0.0 : f32
    %f = tensor.empty() : tensor<4096xf32>
    %init = linalg.fill ins(%zero : f32) outs(%f : tensor<4096xf32>) -> tensor<4096xf32>
    %1 = linalg.generic {indexing_maps = [#turned, #rows], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<4096x4096xf32>) outs(%init : tensor<4096xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.addf %p, %o : f32
      linalg.yield %s : f32
    } -> tensor<4096xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4096xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4096xf32>
  return %0 : tensor<4096xf32>
}

// Operands of a product may be computed at any position that it needs; what follows keeps to rows.
// CHECK-LABEL: func.func @contraction
// CHECK: kind = "contraction"
func.func @contraction(%x: tensor<1024x512xf32>, %w: tensor<256x512xf32>, %c: tensor<1024x256xf32>, %r: tensor<1024x256xf32>) -> tensor<1024x256xf32> {
  %0 = "xyntra.fused"() ({
    %e = tensor.empty() : tensor<512x256xf32>
    %f = tensor.empty() : tensor<1024x256xf32>
    %1 = "xyntra.layer_norm"(%x) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<1024x512xf32>) -> tensor<1024x512xf32>
    %2 = "xyntra.silu"(%w) : (tensor<256x512xf32>) -> tensor<256x512xf32>
    %3 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
        ins(%2 : tensor<256x512xf32>) outs(%e : tensor<512x256xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<512x256xf32>
    %4 = linalg.matmul ins(%1, %3 : tensor<1024x512xf32>, tensor<512x256xf32>) outs(%c : tensor<1024x256xf32>) -> tensor<1024x256xf32>
    %5 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%4, %r : tensor<1024x256xf32>, tensor<1024x256xf32>) outs(%f : tensor<1024x256xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<1024x256xf32>
    %6 = "xyntra.softmax"(%5) {axis = 1} : (tensor<1024x256xf32>) -> tensor<1024x256xf32>
    "xyntra.yield"(%6) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1024x256xf32>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<1024x256xf32>
  return %0 : tensor<1024x256xf32>
}

// A product of rows with one vector may anchor a contraction, or be a reduction by rows.
// CHECK-LABEL: func.func @matvec
// CHECK: kind = "row"
// CHECK: kind = "contraction"
func.func @matvec(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %c: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "xyntra.fused"() ({
    %1 = linalg.generic {indexing_maps = [#id, #columns, #rows], iterator_types = ["parallel", "reduction"]}
        ins(%x, %w : tensor<4x8xf32>, tensor<8xf32>) outs(%c : tensor<4xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %m = arith.mulf %p, %q : f32
      %s = arith.addf %m, %o : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  %2 = "xyntra.fused"() ({
    %1 = linalg.generic {indexing_maps = [#id, #columns, #rows], iterator_types = ["parallel", "reduction"]}
        ins(%x, %w : tensor<4x8xf32>, tensor<8xf32>) outs(%c : tensor<4xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %m = arith.mulf %p, %q : f32
      %s = arith.addf %m, %o : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %3 = "xyntra.silu"(%1) : (tensor<4xf32>) -> tensor<4xf32>
    "xyntra.yield"(%3) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

// Operands that the same loops index are one operand: their products are reduced along rows.
// CHECK-LABEL: func.func @products_of_vectors
// CHECK: kind = "row"
func.func @products_of_vectors(%v: tensor<8xf32>, %w: tensor<8xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "xyntra.fused"() ({
    %1 = linalg.generic {indexing_maps = [#columns, #columns, #rows], iterator_types = ["parallel", "reduction"]}
        ins(%v, %w : tensor<8xf32>, tensor<8xf32>) outs(%c : tensor<4xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %m = arith.mulf %p, %q : f32
      %s = arith.addf %m, %o : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A convolution with a padded input, a bias by channel and a sum over each channel's picture.
// CHECK-LABEL: func.func @conv
// CHECK: kind = "conv"
func.func @conv(%x: tensor<1x3x16x16xf32>, %w: tensor<8x3x3x3xf32>, %b: tensor<8xf32>) -> (tensor<1x8x16x16xf32>, tensor<1x8xf32>) {
  %0:2 = "xyntra.fused"() ({
    %zero = arith.constant 0.0 : f32
    %padded = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
    ^bb0(%i: index, %j: index, %k: index, %l: index):
      tensor.yield %zero : f32
    } : tensor<1x3x16x16xf32> to tensor<1x3x18x18xf32>
    %e = tensor.empty() : tensor<1x8x16x16xf32>
    %f = tensor.empty() : tensor<1x8xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%f : tensor<1x8xf32>) -> tensor<1x8xf32>
    %1 = linalg.generic {
      indexing_maps = [affine_map<(n, m, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, m, y, x, c, i, j) -> (m, c, i, j)>, affine_map<(n, m, y, x, c, i, j) -> (n, m, y, x)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%padded, %w : tensor<1x3x18x18xf32>, tensor<8x3x3x3xf32>) outs(%init : tensor<1x8x16x16xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %m = arith.mulf %p, %q : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<1x8x16x16xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(n, m, y, x) -> (n, m, y, x)>, affine_map<(n, m, y, x) -> (m)>, affine_map<(n, m, y, x) -> (n, m, y, x)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%1, %b : tensor<1x8x16x16xf32>, tensor<8xf32>) outs(%e : tensor<1x8x16x16xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<1x8x16x16xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(n, m, y, x) -> (n, m, y, x)>, affine_map<(n, m, y, x) -> (n, m)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%2 : tensor<1x8x16x16xf32>) outs(%zeros : tensor<1x8xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.addf %p, %o : f32
      linalg.yield %s : f32
    } -> tensor<1x8xf32>
    "xyntra.yield"(%2, %3) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<1x8x16x16xf32>, tensor<1x8xf32>) -> ()
  }) {kind = "conv", resultSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : () -> (tensor<1x8x16x16xf32>, tensor<1x8xf32>)
  return %0#0, %0#1 : tensor<1x8x16x16xf32>, tensor<1x8xf32>
}

// Parts of a larger tensor, stored where they belong by whoever computes them.
// CHECK-LABEL: func.func @concat
// CHECK: kind = "row"
func.func @concat(%x: tensor<64x512xf32>, %y: tensor<64x512xf32>, %t: tensor<256x512xf32>) -> tensor<256x512xf32> {
  %0 = "xyntra.fused"() ({
    %1 = "xyntra.softmax"(%x) {axis = 1} : (tensor<64x512xf32>) -> tensor<64x512xf32>
    %2 = "xyntra.softmax"(%y) {axis = 1} : (tensor<64x512xf32>) -> tensor<64x512xf32>
    %3 = tensor.insert_slice %1 into %t[64, 0] [64, 512] [1, 1] : tensor<64x512xf32> into tensor<256x512xf32>
    %4 = tensor.insert_slice %2 into %3[128, 0] [64, 512] [1, 1] : tensor<64x512xf32> into tensor<256x512xf32>
    "xyntra.yield"(%4) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<256x512xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<256x512xf32>
  return %0 : tensor<256x512xf32>
}

// Moving elements may start from a copy of what came from outside.
// CHECK-LABEL: func.func @data
// CHECK: kind = "data"
func.func @data(%x: tensor<4xf32>, %y: tensor<4xf32>, %t: tensor<12xf32>) -> tensor<12xf32> {
  %0 = "xyntra.fused"() ({
    %1 = tensor.insert_slice %x into %t[0] [4] [1] : tensor<4xf32> into tensor<12xf32>
    %2 = tensor.insert_slice %y into %1[8] [4] [1] : tensor<4xf32> into tensor<12xf32>
    "xyntra.yield"(%2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<12xf32>) -> ()
  }) {kind = "data", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<12xf32>
  return %0 : tensor<12xf32>
}

// A gather may also need the numbers of its iterations to say what it moves.
// CHECK-LABEL: func.func @gather
// CHECK: kind = "data"
func.func @gather(%x: tensor<8x8xf32>, %at: tensor<8xi64>) -> tensor<8x8xf32> {
  %0 = "xyntra.fused"() ({
    %e = tensor.empty() : tensor<8x8xf32>
    %1 = linalg.generic {indexing_maps = [#columns, #id], iterator_types = ["parallel", "parallel"]}
        ins(%at : tensor<8xi64>) outs(%e : tensor<8x8xf32>) {
    ^bb0(%p: i64, %o: f32):
      %row = linalg.index 0 : index
      %column = arith.index_cast %p : i64 to index
      %v = tensor.extract %x[%row, %column] : tensor<8x8xf32>
      linalg.yield %v : f32
    } -> tensor<8x8xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8x8xf32>) -> ()
  }) {kind = "data", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// Loops may do everything that has no side effects.
// CHECK-LABEL: func.func @generic
// CHECK: kind = "generic"
func.func @generic(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %c: tensor<8x16xf32>) -> tensor<16x8xf32> {
  %0 = "xyntra.fused"() ({
    %1 = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
    %2 = linalg.matmul ins(%1, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
    %e = tensor.empty() : tensor<16x8xf32>
    %3 = linalg.transpose ins(%2 : tensor<8x16xf32>) outs(%e : tensor<16x8xf32>) permutation = [1, 0]
    "xyntra.yield"(%3) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x8xf32>) -> ()
  }) {kind = "generic", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

// A kernel function, and a call that gives away a buffer which nobody needs again.
// CHECK-LABEL: func.func private @add_in_place
func.func private @add_in_place(%a: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> attributes {xyntra.inplace = [[0, 0]], xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #columns, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<4x8xf32>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func private @softmax_in_place
func.func private @softmax_in_place(%a: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {xyntra.inplace = [[0, 0]], xyntra.kernel = #xyntra.kernel<{kind = "row"}>} {
  %0 = "xyntra.softmax"(%a) {axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "xyntra.silu"(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func private @insert_in_place
func.func private @insert_in_place(%a: tensor<4x16xf32>, %b: tensor<4x8xf32>) -> tensor<4x16xf32> attributes {xyntra.inplace = [[0, 0]], xyntra.kernel = #xyntra.kernel<{kind = "row"}>} {
  %0 = "xyntra.softmax"(%b) {axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = tensor.insert_slice %0 into %a[0, 8] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}

// CHECK-LABEL: func.func @calls
// CHECK: call @softmax_in_place
func.func @calls(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = "xyntra.silu"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = call @add_in_place(%0, %b) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = call @softmax_in_place(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// Sums over parts of rows, stored in another order than that of the rows, which are too large to be kept together.
// CHECK-LABEL: func.func private @sums_of_parts
func.func private @sums_of_parts(%x: tensor<4096x64xf32>, %w: tensor<64x128xf32>) -> (tensor<4096x4x32xf32>, tensor<4x4096xf32>, tensor<4x4096xf32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "contraction"}>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4096x128xf32>) -> tensor<4096x128xf32>
  %p = linalg.matmul ins(%x, %w : tensor<4096x64xf32>, tensor<64x128xf32>) outs(%f : tensor<4096x128xf32>) -> tensor<4096x128xf32>
  %v = tensor.expand_shape %p [[0], [1, 2]] output_shape [4096, 4, 32] : tensor<4096x128xf32> into tensor<4096x4x32xf32>
  %se = tensor.empty() : tensor<4x4096xf32>
  %sf = linalg.fill ins(%zero : f32) outs(%se : tensor<4x4096xf32>) -> tensor<4x4096xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(m, p, j) -> (m, p, j)>, affine_map<(m, p, j) -> (p, m)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v : tensor<4096x4x32xf32>) outs(%sf : tensor<4x4096xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %o, %a : f32
    linalg.yield %t : f32
  } -> tensor<4x4096xf32>
  %qe = tensor.empty() : tensor<4x4096xf32>
  %qf = linalg.fill ins(%zero : f32) outs(%qe : tensor<4x4096xf32>) -> tensor<4x4096xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(m, p, j) -> (m, p, j)>, affine_map<(m, p, j) -> (p, m)>, affine_map<(m, p, j) -> (p, m)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v, %s : tensor<4096x4x32xf32>, tensor<4x4096xf32>) outs(%qf : tensor<4x4096xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %t = arith.addf %o, %d : f32
    linalg.yield %t : f32
  } -> tensor<4x4096xf32>
  return %v, %s, %q : tensor<4096x4x32xf32>, tensor<4x4096xf32>, tensor<4x4096xf32>
}

// A product that is stored transposed, with what follows it element by element and row by row of what is stored.
// CHECK-LABEL: func.func private @stored_transposed
func.func private @stored_transposed(%x: tensor<4096x64xf32>, %w: tensor<64x128xf32>, %b: tensor<4096x128xf32>) -> tensor<128x4096xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "contraction"}>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x4096xf32>) -> tensor<128x4096xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (n, m)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4096x64xf32>, tensor<64x128xf32>) outs(%f : tensor<128x4096xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %m = arith.mulf %a, %c : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<128x4096xf32>
  %g = tensor.empty() : tensor<128x4096xf32>
  %r = linalg.generic {indexing_maps = [#id, #turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %b : tensor<128x4096xf32>, tensor<4096x128xf32>) outs(%g : tensor<128x4096xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<128x4096xf32>
  %y = "xyntra.softmax"(%r) {axis = 1} : (tensor<128x4096xf32>) -> tensor<128x4096xf32>
  return %y : tensor<128x4096xf32>
}
