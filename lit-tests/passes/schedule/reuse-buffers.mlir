// RUN: %xyntra-opt %s --reuse-buffers | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>

// CHECK: func.func private @scale_inplace_00(
// CHECK-SAME: xyntra.inplace =
// CHECK-NOT: func.func private @scale(
func.func private @soft(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "row"}>} {
  %0 = "xyntra.softmax"(%x) {axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func private @scale(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<4x8xf32>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// The first softmax's buffer ends at the scaling, through a view as well.
// CHECK-LABEL: func.func @main
// CHECK: call @soft
// CHECK: call @scale_inplace_00
// CHECK: call @soft
func.func @main(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = call @soft(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  %2 = tensor.expand_shape %1 [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
  %3 = call @scale(%2, %b) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %4 = call @soft(%3) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}
