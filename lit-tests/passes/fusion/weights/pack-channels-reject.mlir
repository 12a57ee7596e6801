// RUN: %xyntra-opt %s --pack-channels | FileCheck %s

#image = affine_map<(n, h, w, o, c, i, j) -> (n, c, h + i, w + j)>
#wide = affine_map<(n, h, w, o, c, i, j) -> (n, c, h + i, w + j * 2)>
#oihw = affine_map<(n, h, w, o, c, i, j) -> (o, c, i, j)>
#y = affine_map<(n, h, w, o, c, i, j) -> (n, h, w, o)>
#first = affine_map<(n, h, w, o, c, i, j) -> (n, o, h, w)>

// Eight channels are a vector as they are.
// CHECK-LABEL: func.func @many_channels(
// CHECK: ins(%arg0, %arg1 : tensor<1x8x6x6xf16>, tensor<8x8x3x3xf16>)
func.func @many_channels(%x: tensor<1x8x6x6xf16>, %w: tensor<8x8x3x3xf16> {xyntra.parameter = "w"}) -> tensor<1x4x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x4x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  %y = linalg.generic {indexing_maps = [#image, #oihw, #y],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x8x6x6xf16>, tensor<8x8x3x3xf16>) outs(%i : tensor<1x4x4x8xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x4x4x8xf32>
  return %y : tensor<1x4x4x8xf32>
}

// Tensor cores take narrow numbers.
// CHECK-LABEL: func.func @singles(
// CHECK: ins(%arg0, %arg1 : tensor<1x3x6x6xf32>, tensor<8x3x3x3xf32>)
func.func @singles(%x: tensor<1x3x6x6xf32>, %w: tensor<8x3x3x3xf32> {xyntra.parameter = "w"}) -> tensor<1x4x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x4x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  %y = linalg.generic {indexing_maps = [#image, #oihw, #y],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x6x6xf32>, tensor<8x3x3x3xf32>) outs(%i : tensor<1x4x4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x4x4x8xf32>
  return %y : tensor<1x4x4x8xf32>
}

// Taps that lie apart are no neighbours.
// CHECK-LABEL: func.func @spread(
// CHECK: ins(%arg0, %arg1 : tensor<1x3x6x8xf16>, tensor<8x3x3x3xf16>)
func.func @spread(%x: tensor<1x3x6x8xf16>, %w: tensor<8x3x3x3xf16> {xyntra.parameter = "w"}) -> tensor<1x4x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x4x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  %y = linalg.generic {indexing_maps = [#wide, #oihw, #y],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x6x8xf16>, tensor<8x3x3x3xf16>) outs(%i : tensor<1x4x4x8xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x4x4x8xf32>
  return %y : tensor<1x4x4x8xf32>
}

// The result has its channels first.
// CHECK-LABEL: func.func @channels_first(
// CHECK: ins(%arg0, %arg1 : tensor<1x3x6x6xf16>, tensor<8x3x3x3xf16>)
func.func @channels_first(%x: tensor<1x3x6x6xf16>, %w: tensor<8x3x3x3xf16> {xyntra.parameter = "w"}) -> tensor<1x8x4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x8x4x4xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %y = linalg.generic {indexing_maps = [#image, #oihw, #first],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x6x6xf16>, tensor<8x3x3x3xf16>) outs(%i : tensor<1x8x4x4xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x8x4x4xf32>
  return %y : tensor<1x8x4x4xf32>
}

// The filter is not known when the model is loaded.
// CHECK-LABEL: func.func @no_weights(
// CHECK: ins(%arg0, %arg1 : tensor<1x3x6x6xf16>, tensor<8x3x3x3xf16>)
func.func @no_weights(%x: tensor<1x3x6x6xf16>, %w: tensor<8x3x3x3xf16>) -> tensor<1x4x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x4x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  %y = linalg.generic {indexing_maps = [#image, #oihw, #y],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x6x6xf16>, tensor<8x3x3x3xf16>) outs(%i : tensor<1x4x4x8xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x4x4x8xf32>
  return %y : tensor<1x4x4x8xf32>
}

// The sums do not start from zero.
// CHECK-LABEL: func.func @from_one(
// CHECK: ins(%arg0, %arg1 : tensor<1x3x6x6xf16>, tensor<8x3x3x3xf16>)
func.func @from_one(%x: tensor<1x3x6x6xf16>, %w: tensor<8x3x3x3xf16> {xyntra.parameter = "w"}) -> tensor<1x4x4x8xf32> {
  %zero = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<1x4x4x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  %y = linalg.generic {indexing_maps = [#image, #oihw, #y],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x6x6xf16>, tensor<8x3x3x3xf16>) outs(%i : tensor<1x4x4x8xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x4x4x8xf32>
  return %y : tensor<1x4x4x8xf32>
}

// There is one result, and no channel of it.
// CHECK-LABEL: func.func @one_number(
// CHECK: ins(%arg0, %arg1 : tensor<1x32x7xf16>, tensor<7xf16>)
func.func @one_number(%x: tensor<1x32x7xf16>, %w: tensor<7xf16> {xyntra.parameter = "w"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %y = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (c)>, affine_map<(a, b, c) -> ()>],
      iterator_types = ["reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x32x7xf16>, tensor<7xf16>) outs(%i : tensor<f32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}

// A tile of the image serves several groups of few channels.
// CHECK-LABEL: func.func @groups(
// CHECK: ins(%arg0, %arg1 : tensor<1x4x3x6x6xf16>, tensor<4x2x3x3x3xf16>)
func.func @groups(%x: tensor<1x4x3x6x6xf16>, %w: tensor<4x2x3x3x3xf16> {xyntra.parameter = "w"}) -> tensor<1x4x4x4x2xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x4x4x2xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4x4x2xf32>) -> tensor<1x4x4x4x2xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(n, h, w, g, o, c, i, j) -> (n, g, c, h + i, w + j)>,
      affine_map<(n, h, w, g, o, c, i, j) -> (g, o, c, i, j)>, affine_map<(n, h, w, g, o, c, i, j) -> (n, h, w, g, o)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x4x3x6x6xf16>, tensor<4x2x3x3x3xf16>) outs(%i : tensor<1x4x4x4x2xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %p = arith.mulf %u, %v : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x4x4x4x2xf32>
  return %y : tensor<1x4x4x4x2xf32>
}
