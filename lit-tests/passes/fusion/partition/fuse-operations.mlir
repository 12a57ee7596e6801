// RUN: %xyntra-opt %s --fuse-operations | FileCheck %s
// RUN: %xyntra-opt %s --fuse-operations=max-ops=2 | FileCheck %s --check-prefix=SMALL
// RUN: %xyntra-opt %s --fuse-operations=target=cuda | FileCheck %s --check-prefix=CUDA

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#first = affine_map<(d0, d1) -> (d0)>
#swap = affine_map<(d0, d1) -> (d1, d0)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>

// A bias is read through its own map and stays an input; the two operations share a region.
// CHECK-LABEL: func.func @bias_relu(
// CHECK-SAME: %[[X:.+]]: tensor<4x8xf32>, %[[B:.+]]: tensor<8xf32>)
// CHECK: %[[Y:.+]] = "xyntra.fused"() ({
// CHECK: %[[SUM:.+]] = linalg.generic {{.+}} ins(%[[X]], %[[B]] :
// CHECK: %[[RELU:.+]] = linalg.generic {{.+}} ins(%[[SUM]] :
// CHECK: "xyntra.yield"(%[[RELU]])
// CHECK: kind = "elementwise"
// CHECK: return %[[Y]]
func.func @bias_relu(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<4x8xf32>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.maximumf %p, %zero : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// A value that is also returned becomes a second result of the region.
// CHECK-LABEL: func.func @two_results
// CHECK: %[[R:.+]]:2 = "xyntra.fused"() ({
// CHECK: %[[A:.+]] = linalg.generic
// CHECK: math.exp
// CHECK: %[[B:.+]] = linalg.generic
// CHECK: arith.mulf
// CHECK: "xyntra.yield"(%[[A]], %[[B]])
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @two_results(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %x : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// Three operations, two to a region.
// CHECK-LABEL: func.func @chain
// CHECK-COUNT-1: "xyntra.fused"
// CHECK: return
// SMALL-LABEL: func.func @chain
// SMALL: "xyntra.fused"() ({
// SMALL: math.exp
// SMALL: math.tanh
// SMALL: "xyntra.yield"
// SMALL: "xyntra.fused"() ({
// SMALL: math.absf
// SMALL: reason = "too-many-operations"
// SMALL: return
func.func @chain(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.tanh %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%1 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.absf %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// A reduction shares its rows with what feeds it and with what reads its result.
// CHECK-LABEL: func.func @rows
// CHECK: "xyntra.fused"() ({
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: arith.divf
// CHECK: kind = "row"
// CHECK-NOT: "xyntra.fused"
// CHECK: return
func.func @rows(%x: tensor<128x64xf32>) -> tensor<128x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x64xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<128x64xf32>) outs(%e : tensor<128x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<128x64xf32>
  %f = tensor.empty() : tensor<128xf32>
  %i = linalg.fill ins(%zero : f32) outs(%f : tensor<128xf32>) -> tensor<128xf32>
  %1 = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]}
      ins(%0 : tensor<128x64xf32>) outs(%i : tensor<128xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<128xf32>
  %2 = linalg.generic {indexing_maps = [#id, #first, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %1 : tensor<128x64xf32>, tensor<128xf32>) outs(%e : tensor<128x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.divf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<128x64xf32>
  return %2 : tensor<128x64xf32>
}

// A product with a cast before it, its bias and residual behind it, and the norm of its rows; the
// sum is also a result.
// CHECK-LABEL: func.func @product
// CHECK: %[[R:.+]]:2 = "xyntra.fused"() ({
// CHECK: math.absf
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: xyntra.layer_norm
// CHECK: kind = "contraction"
// CHECK-SAME: xyntra.boundaries = []
// CHECK-SAME: bound = "compute"
// CHECK-NOT: "xyntra.fused"
// CHECK: return
func.func @product(%x: tensor<128x64xf32>, %w: tensor<64x64xf32>, %r: tensor<128x64xf32>, %g: tensor<64xf32>) -> (tensor<128x64xf32>, tensor<128x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x64xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<128x64xf32>) outs(%e : tensor<128x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.absf %p : f32
    linalg.yield %s : f32
  } -> tensor<128x64xf32>
  %i = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<128x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<128x64xf32>
  %1 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%0, %w : tensor<128x64xf32>, tensor<64x64xf32>) outs(%i : tensor<128x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<128x64xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%1, %r : tensor<128x64xf32>, tensor<128x64xf32>) outs(%e : tensor<128x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<128x64xf32>
  %3 = "xyntra.layer_norm"(%2, %g) {axis = 1, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
  return %2, %3 : tensor<128x64xf32>, tensor<128x64xf32>
}

// A part of a tensor in another shape is read where it is.
// CHECK-LABEL: func.func @views
// CHECK: %[[X:.+]] = "xyntra.fused"
// CHECK: xyntra.softmax
// CHECK: "xyntra.fused"() ({
// CHECK: tensor.extract_slice %[[X]]
// CHECK: tensor.expand_shape
// CHECK: math.exp
// CHECK: kind = "elementwise"
// CHECK: return
func.func @views(%x: tensor<256x256xf32>) -> tensor<128x64xf32> {
  %0 = "xyntra.softmax"(%x) {axis = 0} : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = tensor.extract_slice %0[0, 8] [128, 64] [1, 1] : tensor<256x256xf32> to tensor<128x64xf32>
  %2 = tensor.expand_shape %1 [[0, 1], [2]] output_shape [1, 128, 64] : tensor<128x64xf32> into tensor<1x128x64xf32>
  %3 = tensor.collapse_shape %2 [[0, 1], [2]] : tensor<1x128x64xf32> into tensor<128x64xf32>
  %e = tensor.empty() : tensor<128x64xf32>
  %4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%3 : tensor<128x64xf32>) outs(%e : tensor<128x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<128x64xf32>
  return %4 : tensor<128x64xf32>
}

// What a concatenation consists of is computed in its place.
// CHECK-LABEL: func.func @concat
// CHECK: "xyntra.fused"() ({
// CHECK: math.exp
// CHECK: tensor.insert_slice
// CHECK: tensor.insert_slice
// CHECK: kind = "generic"
// CHECK-NOT: "xyntra.fused"
// CHECK: return
func.func @concat(%x: tensor<128x64xf32>) -> tensor<128x128xf32> {
  %e = tensor.empty() : tensor<128x64xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<128x64xf32>) outs(%e : tensor<128x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<128x64xf32>
  %f = tensor.empty() : tensor<128x128xf32>
  %1 = tensor.insert_slice %x into %f[0, 0] [128, 64] [1, 1] : tensor<128x64xf32> into tensor<128x128xf32>
  %2 = tensor.insert_slice %0 into %1[0, 64] [128, 64] [1, 1] : tensor<128x64xf32> into tensor<128x128xf32>
  return %2 : tensor<128x128xf32>
}

// Two kernels over one space that do not need each other share a launch and the read of %x.
// CHECK-LABEL: func.func @siblings
// CHECK: %[[R:.+]]:2 = "xyntra.fused"() ({
// CHECK: math.exp
// CHECK: math.absf
// CHECK: kind = "elementwise"
// CHECK: return %[[R]]
func.func @siblings(%x: tensor<128x64xf32>) -> (tensor<128x64xf32>, tensor<128x64xf32>) {
  %e = tensor.empty() : tensor<128x64xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<128x64xf32>) outs(%e : tensor<128x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<128x64xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<128x64xf32>) outs(%e : tensor<128x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.absf %p : f32
    linalg.yield %s : f32
  } -> tensor<128x64xf32>
  return %0, %1 : tensor<128x64xf32>, tensor<128x64xf32>
}

// Small kernels over different spaces share a launch.
// CHECK-LABEL: func.func @small
// CHECK: %[[R:.+]]:2 = "xyntra.fused"() ({
// CHECK: xyntra.softmax
// CHECK: xyntra.softmax
// CHECK: kind = "generic"
// CHECK: return %[[R]]
func.func @small(%x: tensor<4x8xf32>, %y: tensor<3x5xf32>) -> (tensor<4x8xf32>, tensor<3x5xf32>) {
  %0 = "xyntra.softmax"(%x) {axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "xyntra.softmax"(%y) {axis = 1} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<3x5xf32>
}

// A mask is computed from its row in both products that read it, and stored by none.
// CHECK-LABEL: func.func @recompute(
// CHECK-SAME: %[[M:[^:]+]]: tensor<256xf32>,
// CHECK: "xyntra.fused"() ({
// CHECK: linalg.generic {{.+}} ins(%[[M]] :
// CHECK: kind = "contraction"
// CHECK: "xyntra.fused"() ({
// CHECK: linalg.generic {{.+}} ins(%[[M]] :
// CHECK: kind = "contraction"
// CHECK-NOT: "xyntra.fused"
// CHECK: return
func.func @recompute(%m: tensor<256xf32>, %x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x256xf32>
  %mask = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<256xf32>) outs(%e : tensor<256x256xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.negf %p : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  %i = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<256x256xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<256x256xf32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %mask : tensor<256x256xf32>, tensor<256x256xf32>) outs(%i : tensor<256x256xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m1 = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m1 : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  %j = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<256x256xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<256x256xf32>
  %1 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%0, %mask : tensor<256x256xf32>, tensor<256x256xf32>) outs(%j : tensor<256x256xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m1 = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m1 : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}

// What weights alone decide is computed once, at load: equal operations stay equal kernels of
// their own, while those of every call save a launch.
// CHECK-LABEL: func.func @computed_at_load
// CHECK: %[[V:.+]] = "xyntra.fused"() ({
// CHECK: linalg.generic
// CHECK-NEXT: ^bb0
// CHECK-NEXT: linalg.yield
// CHECK-NEXT: } -> tensor<4x8xf32>
// CHECK-NEXT: "xyntra.yield"
// CHECK: %[[W:.+]] = "xyntra.fused"() ({
// CHECK: linalg.generic
// CHECK: %[[R:.+]]:2 = "xyntra.fused"() ({
// CHECK: arith.mulf
// CHECK: arith.mulf
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @computed_at_load(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>,
    %v: tensor<8x4xf32> {xyntra.parameter = "v"}, %w: tensor<8x4xf32> {xyntra.parameter = "w"})
    -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v : tensor<8x4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<8x4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<4x8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %0 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %1 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %2, %3 : tensor<4x8xf32>, tensor<4x8xf32>
}

// A scale for each of 1200 channels, behind a norm of 40 groups of these: rows begin between channels. GPUs hold such rows, CPUs do not.
// CHECK-LABEL: func.func @channels_in_groups(
// CHECK-COUNT-2: "xyntra.fused"
// CUDA-LABEL: func.func @channels_in_groups(
// CUDA: "xyntra.fused"
// CUDA-NOT: "xyntra.fused"
// CUDA: return
func.func @channels_in_groups(%x: tensor<2x1200x64x64xf32>, %s: tensor<1200xf32>) -> tensor<2x1200x64x64xf32> {
  %flat = tensor.collapse_shape %x [[0], [1, 2, 3]] : tensor<2x1200x64x64xf32> into tensor<2x4915200xf32>
  %rows = tensor.expand_shape %flat [[0], [1, 2]] output_shape [2, 40, 122880] : tensor<2x4915200xf32> into tensor<2x40x122880xf32>
  %n = "xyntra.layer_norm"(%rows) {axis = 2 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<2x40x122880xf32>) -> tensor<2x40x122880xf32>
  %back = tensor.collapse_shape %n [[0], [1, 2]] : tensor<2x40x122880xf32> into tensor<2x4915200xf32>
  %image = tensor.expand_shape %back [[0], [1, 2, 3]] output_shape [2, 1200, 64, 64] : tensor<2x4915200xf32> into tensor<2x1200x64x64xf32>
  %e = tensor.empty() : tensor<2x1200x64x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(n, c, h, w) -> (n, c, h, w)>, affine_map<(n, c, h, w) -> (c)>, affine_map<(n, c, h, w) -> (n, c, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%image, %s : tensor<2x1200x64x64xf32>, tensor<1200xf32>) outs(%e : tensor<2x1200x64x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = arith.mulf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<2x1200x64x64xf32>
  return %y : tensor<2x1200x64x64xf32>
}

// A sum over columns computes on GPUs what it adds up.
// CUDA-LABEL: func.func @summands(
// CUDA: "xyntra.fused"
// CUDA-NOT: "xyntra.fused"
// CUDA: return
func.func @summands(%x: tensor<8192x1024xf32>, %y: tensor<8192x1024xf32>) -> tensor<1024xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8192x1024xf32>
  %p = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<8192x1024xf32>, tensor<8192x1024xf32>) outs(%e : tensor<8192x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<8192x1024xf32>
  %t = tensor.empty() : tensor<1024xf32>
  %f = linalg.fill ins(%zero : f32) outs(%t : tensor<1024xf32>) -> tensor<1024xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["reduction", "parallel"]}
      ins(%p : tensor<8192x1024xf32>) outs(%f : tensor<1024xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<1024xf32>
  return %s : tensor<1024xf32>
}

// The halves of two images change places, with a scale: on GPUs by blocks of one launch, though neither is small nor alike element by element.
// CHECK-LABEL: func.func @two_rotations(
// CHECK-COUNT-2: "xyntra.fused"
// CUDA-LABEL: func.func @two_rotations(
// CUDA: "xyntra.fused"
// CUDA-NOT: "xyntra.fused"
// CUDA: return
func.func @two_rotations(%x: tensor<4096x512xf32>, %y: tensor<4096x512xf32>, %s: tensor<4096x512xf32>) -> (tensor<4096x512xf32>, tensor<4096x512xf32>) {
  %e = tensor.empty() : tensor<4096x512xf32>
  %xl = tensor.extract_slice %x[0, 0] [4096, 256] [1, 1] : tensor<4096x512xf32> to tensor<4096x256xf32>
  %xr = tensor.extract_slice %x[0, 256] [4096, 256] [1, 1] : tensor<4096x512xf32> to tensor<4096x256xf32>
  %xt = tensor.concat dim(1) %xr, %xl : (tensor<4096x256xf32>, tensor<4096x256xf32>) -> tensor<4096x512xf32>
  %p = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%xt, %s : tensor<4096x512xf32>, tensor<4096x512xf32>) outs(%e : tensor<4096x512xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<4096x512xf32>
  %yl = tensor.extract_slice %y[0, 0] [4096, 256] [1, 1] : tensor<4096x512xf32> to tensor<4096x256xf32>
  %yr = tensor.extract_slice %y[0, 256] [4096, 256] [1, 1] : tensor<4096x512xf32> to tensor<4096x256xf32>
  %yt = tensor.concat dim(1) %yr, %yl : (tensor<4096x256xf32>, tensor<4096x256xf32>) -> tensor<4096x512xf32>
  %q = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%yt, %s : tensor<4096x512xf32>, tensor<4096x512xf32>) outs(%e : tensor<4096x512xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<4096x512xf32>
  return %p, %q : tensor<4096x512xf32>, tensor<4096x512xf32>
}

// Numbers of positions that are only written: their copy computes nothing, but the kernel does not move elements.
// CHECK-LABEL: func.func @numbers(
// CHECK: linalg.index
// CHECK: kind = "elementwise"
func.func @numbers() -> tensor<5xi64> {
  %t = tensor.empty() : tensor<5xi64>
  %n = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%t : tensor<5xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %c = arith.index_cast %i : index to i64
    linalg.yield %c : i64
  } -> tensor<5xi64>
  %m = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%n : tensor<5xi64>) outs(%t : tensor<5xi64>) {
  ^bb0(%a: i64, %o: i64):
    linalg.yield %a : i64
  } -> tensor<5xi64>
  return %m : tensor<5xi64>
}
