// RUN: %xyntra-opt %s --fuse-operations | FileCheck %s
// RUN: %xyntra-opt %s --fuse-operations=target=cuda | FileCheck %s --check-prefix=CUDA

#id = affine_map<(d0, d1) -> (d0, d1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>
#first = affine_map<(d0, d1) -> (d0)>
#line = affine_map<(d0) -> (d0)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>

// The reader needs other elements than those that its producer computes at that point.
// CHECK-LABEL: func.func @transposed_read
// CHECK: "xyntra.fused"
// CHECK: "xyntra.fused"
// CHECK: reason = "misaligned"
// CHECK-NOT: "xyntra.fused"
// CHECK: return
func.func @transposed_read(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %e = tensor.empty() : tensor<256x256xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<256x256xf32>) outs(%e : tensor<256x256xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  %1 = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<256x256xf32>) outs(%e : tensor<256x256xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.absf %p : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}

// One kernel is built around one matrix product.
// CHECK-LABEL: func.func @two_products
// CHECK: "xyntra.fused"
// CHECK: "xyntra.fused"
// CHECK: reason = "two-anchors"
// CHECK-NOT: "xyntra.fused"
// CHECK: return
func.func @two_products(%x: tensor<256x256xf32>, %v: tensor<256x256xf32>, %w: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x256xf32>
  %i = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<256x256xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<256x256xf32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<256x256xf32>, tensor<256x256xf32>) outs(%i : tensor<256x256xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  %j = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<256x256xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<256x256xf32>
  %1 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%0, %w : tensor<256x256xf32>, tensor<256x256xf32>) outs(%j : tensor<256x256xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}

// Each row of the softmax would be computed again for every column of the product.
// CHECK-LABEL: func.func @row_before_product
// CHECK: "xyntra.fused"
// CHECK: "xyntra.fused"
// CHECK: reason = "row-before-anchor"
// CHECK-NOT: "xyntra.fused"
// CHECK: return
func.func @row_before_product(%x: tensor<256x256xf32>, %w: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x256xf32>
  %0 = "xyntra.softmax"(%x) {axis = 1} : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %i = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<256x256xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<256x256xf32>
  %1 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%0, %w : tensor<256x256xf32>, tensor<256x256xf32>) outs(%i : tensor<256x256xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}

// What the product reads is also returned, so it is stored anyway.
// CHECK-LABEL: func.func @other_readers
// CHECK: "xyntra.fused"
// CHECK: "xyntra.fused"
// CHECK: reason = "other-readers"
// CHECK-NOT: "xyntra.fused"
// CHECK: return
func.func @other_readers(%x: tensor<256x256xf32>, %w: tensor<256x256xf32>) -> (tensor<256x256xf32>, tensor<256x256xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x256xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<256x256xf32>) outs(%e : tensor<256x256xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  %i = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<256x256xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<256x256xf32>
  %1 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%0, %w : tensor<256x256xf32>, tensor<256x256xf32>) outs(%i : tensor<256x256xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  return %0, %1 : tensor<256x256xf32>, tensor<256x256xf32>
}

// exp -> transposed abs -> add, and exp -> add: one region for exp and add would wait for itself.
// CHECK-LABEL: func.func @cycle
// CHECK: math.exp
// CHECK: "xyntra.fused"
// CHECK: math.absf
// CHECK: arith.addf
// CHECK: reason = "misaligned"
// CHECK-NOT: "xyntra.fused"
// CHECK: return
func.func @cycle(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %e = tensor.empty() : tensor<256x256xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<256x256xf32>) outs(%e : tensor<256x256xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  %1 = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<256x256xf32>) outs(%e : tensor<256x256xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.absf %p : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %1 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%e : tensor<256x256xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  return %2 : tensor<256x256xf32>
}

// What depends on weights alone runs once, when the model is loaded.
// CHECK-LABEL: func.func @weights
// CHECK: "xyntra.fused"
// CHECK: "xyntra.fused"
// CHECK: reason = "once-at-load"
// CHECK-NOT: "xyntra.fused"
// CHECK: return
func.func @weights(%x: tensor<256x256xf32>, %w: tensor<256x256xf32> {xyntra.parameter = "w"}) -> tensor<256x256xf32> {
  %e = tensor.empty() : tensor<256x256xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<256x256xf32>) outs(%e : tensor<256x256xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %0 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%e : tensor<256x256xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}

// A row of a million elements is more than one worker keeps to itself.
// CHECK-LABEL: func.func @long_row
// CHECK: "xyntra.fused"
// CHECK: "xyntra.fused"
// CHECK: reason = "row-too-long"
// CHECK-NOT: "xyntra.fused"
// CHECK: return
func.func @long_row(%x: tensor<2x1048576xf32>) -> tensor<2x1048576xf32> {
  %0 = "xyntra.softmax"(%x) {axis = 1} : (tensor<2x1048576xf32>) -> tensor<2x1048576xf32>
  %e = tensor.empty() : tensor<2x1048576xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<2x1048576xf32>) outs(%e : tensor<2x1048576xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<2x1048576xf32>
  return %1 : tensor<2x1048576xf32>
}

// Tensor cores are fed by copies: on a GPU nothing is computed on the way into a product, and what
// lies between two products is computed where the first one ends.
// CHECK-LABEL: func.func @before_product
// CHECK: "xyntra.fused"
// CHECK: math.exp
// CHECK-NOT: xyntra.yield
// CHECK: arith.mulf
// CHECK: return
// CUDA-LABEL: func.func @before_product
// CUDA: math.exp
// CUDA: "xyntra.yield"
// CUDA: arith.mulf
// CUDA: math.exp
// CUDA: "xyntra.yield"
// CUDA: factor-copied
// CUDA: arith.mulf
// CUDA: return
func.func @before_product(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %u: tensor<64x64xf32>)
    -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = linalg.generic {
      indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%0, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<64x64xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%1 : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<64x64xf32>
  %3 = linalg.generic {
      indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%2, %u : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}

// What an operation writes over, here the product, another one must not read in the same kernel.
// CHECK-LABEL: func.func @overwritten
// CHECK: linalg.generic
// CHECK: kind = "contraction"
// CHECK: "xyntra.fused"() ({
// CHECK: arith.addf
// CHECK: reason = "overwritten"
func.func @overwritten(%x: tensor<64x64xf32>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %x : tensor<64x64xf32>, tensor<64x64xf32>) outs(%c : tensor<64x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<64x64xf32>
  %e = tensor.empty() : tensor<64x64xf32>
  %1 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%0, %c : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
