// RUN: %xyntra-opt %s --split-long-norms | FileCheck %s

// CHECK-LABEL: func.func @one_row(
// CHECK-NOT: xyntra.layer_norm
// CHECK: %[[PARTS:.+]] = tensor.expand_shape %arg0 {{.+}} : tensor<1x1048576xf16> into tensor<1x1024x1024xf16>
// CHECK: iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[PARTS]] : tensor<1x1024x1024xf16>)
// CHECK: iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.+}} : tensor<1x1024x1024xf32>) outs(%{{.+}} : tensor<1x1024xf32>)
// CHECK: iterator_types = ["parallel", "reduction"]} ins(%{{.+}} : tensor<1x1024xf32>)
// CHECK: iterator_types = ["parallel", "reduction"]} ins(%{{.+}} : tensor<1x1024xf32>)
// CHECK: math.sqrt
// CHECK: ins(%arg0, %{{.+}}, %{{.+}} : tensor<1x1048576xf16>, tensor<f32>, tensor<f32>) outs(%{{.+}} : tensor<1x1048576xf16>)
func.func @one_row(%x: tensor<1x1048576xf16>) -> tensor<1x1048576xf16> {
  %0 = "xyntra.layer_norm"(%x) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<1x1048576xf16>) -> tensor<1x1048576xf16>
  return %0 : tensor<1x1048576xf16>
}

// The scale and the bias of an RMS norm's or a layer norm's elements are applied in f32.
// CHECK-LABEL: func.func @scaled(
// CHECK-NOT: xyntra.rms_norm
// CHECK: iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK: iterator_types = ["parallel", "reduction"]}
// CHECK: outs(%{{.+}} : tensor<2x524288xf32>)
// CHECK: ins(%{{.+}}, %arg1 : tensor<2x524288xf32>, tensor<524288xf16>) outs(%{{.+}} : tensor<2x524288xf16>)
func.func @scaled(%x: tensor<2x524288xf16>, %s: tensor<524288xf16>) -> tensor<2x524288xf16> {
  %0 = "xyntra.rms_norm"(%x, %s) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1>} : (tensor<2x524288xf16>, tensor<524288xf16>) -> tensor<2x524288xf16>
  return %0 : tensor<2x524288xf16>
}

#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#turned = affine_map<(d0, d1, d2) -> (d0, d2, d1)>

// What is moved within rows is normalised where it lies, and moved afterwards.
// CHECK-LABEL: func.func @turned(
// CHECK: tensor.collapse_shape %arg0 {{.+}} : tensor<2x4096x256xf16> into tensor<2x1048576xf16>
// CHECK: ins(%arg0, %{{.+}}, %{{.+}} : tensor<2x4096x256xf16>, tensor<2xf32>, tensor<2xf32>) outs(%{{.+}} : tensor<2x4096x256xf16>)
// CHECK: outs(%{{.+}} : tensor<2x256x4096xf16>)
func.func @turned(%x: tensor<2x4096x256xf16>) -> tensor<2x1048576xf16> {
  %e = tensor.empty() : tensor<2x256x4096xf16>
  %0 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x4096x256xf16>) outs(%e : tensor<2x256x4096xf16>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  } -> tensor<2x256x4096xf16>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<2x256x4096xf16> into tensor<2x1048576xf16>
  %2 = "xyntra.layer_norm"(%1) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<2x1048576xf16>) -> tensor<2x1048576xf16>
  return %2 : tensor<2x1048576xf16>
}

#channels = affine_map<(d0, d1, d2) -> (d1)>

// What follows is computed before the opposite transpose, which has nothing left to move.
// CHECK-LABEL: func.func @turned_back(
// CHECK-SAME: %[[X:.+]]: tensor<2x4096x256xf16>, %[[S:.+]]: tensor<256xf16>)
// CHECK: %[[N:.+]] = linalg.generic {{.+}} ins(%[[X]], %{{.+}} : tensor<2x4096x256xf16>, tensor<2xf32>, tensor<2xf32>)
// CHECK-NOT: xyntra.layer_norm
// CHECK: %[[Y:.+]] = linalg.generic {{.+}} ins(%[[N]], %[[S]] : tensor<2x4096x256xf16>, tensor<256xf16>)
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @turned_back(%x: tensor<2x4096x256xf16>, %s: tensor<256xf16>) -> tensor<2x4096x256xf16> {
  %e = tensor.empty() : tensor<2x256x4096xf16>
  %f = tensor.empty() : tensor<2x4096x256xf16>
  %0 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x4096x256xf16>) outs(%e : tensor<2x256x4096xf16>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  } -> tensor<2x256x4096xf16>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<2x256x4096xf16> into tensor<2x1048576xf16>
  %2 = "xyntra.layer_norm"(%1) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<2x1048576xf16>) -> tensor<2x1048576xf16>
  %3 = tensor.expand_shape %2 [[0], [1, 2]] output_shape [2, 256, 4096] : tensor<2x1048576xf16> into tensor<2x256x4096xf16>
  %4 = linalg.generic {indexing_maps = [#id, #channels, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%3, %s : tensor<2x256x4096xf16>, tensor<256xf16>) outs(%e : tensor<2x256x4096xf16>) {
  ^bb0(%p: f16, %q: f16, %o: f16):
    %m = arith.mulf %p, %q : f16
    linalg.yield %m : f16
  } -> tensor<2x256x4096xf16>
  %5 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%4 : tensor<2x256x4096xf16>) outs(%f : tensor<2x4096x256xf16>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  } -> tensor<2x4096x256xf16>
  return %5 : tensor<2x4096x256xf16>
}

// Groups of channels that lie innermost: sums of columns of 16 places of one channel, in the order of rows, and what the
// rows give is applied where the image lies.
// CHECK-LABEL: func.func @groups(
// CHECK-NOT: xyntra.layer_norm
// CHECK: tensor.expand_shape %arg0 {{.+}} : tensor<2x512x64xf16> into tensor<2x32x16x64xf16>
// CHECK: iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%{{.+}} : tensor<2x32x16x64xf16>) outs(%{{.+}} : tensor<2x64x32xf32>)
// CHECK: tensor<4096xf32> into tensor<16x256xf32>
// CHECK: math.sqrt
// CHECK: ins(%arg0, %{{.+}}, %{{.+}} : tensor<2x512x64xf16>, tensor<2x64xf32>, tensor<2x64xf32>) outs(%{{.+}} : tensor<2x512x64xf16>)
func.func @groups(%x: tensor<2x512x64xf16>) -> tensor<2x8x4096xf16> {
  %e = tensor.empty() : tensor<2x64x512xf16>
  %0 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x512x64xf16>) outs(%e : tensor<2x64x512xf16>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  } -> tensor<2x64x512xf16>
  %1 = tensor.expand_shape %0 [[0], [1, 2], [3]] output_shape [2, 8, 8, 512] : tensor<2x64x512xf16> into tensor<2x8x8x512xf16>
  %2 = tensor.collapse_shape %1 [[0], [1], [2, 3]] : tensor<2x8x8x512xf16> into tensor<2x8x4096xf16>
  %3 = "xyntra.layer_norm"(%2) {axis = 2 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<2x8x4096xf16>) -> tensor<2x8x4096xf16>
  return %3 : tensor<2x8x4096xf16>
}

// Few elements of single channels: whole columns, which one launch holds, are reduced where they lie.
// CHECK-LABEL: func.func @channels(
// CHECK-NOT: xyntra.layer_norm
// CHECK: iterator_types = ["parallel", "reduction", "parallel"]} ins(%arg0 : tensor<2x48x64xf16>) outs(%{{.+}} : tensor<2x64xf32>)
// CHECK: iterator_types = ["parallel", "reduction", "parallel"]}
// CHECK: math.sqrt
// CHECK: ins(%arg0, %{{.+}}, %{{.+}} : tensor<2x48x64xf16>, tensor<2x64xf32>, tensor<2x64xf32>) outs(%{{.+}} : tensor<2x48x64xf16>)
func.func @channels(%x: tensor<2x48x64xf16>) -> tensor<2x64x48xf16> {
  %e = tensor.empty() : tensor<2x64x48xf16>
  %0 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x48x64xf16>) outs(%e : tensor<2x64x48xf16>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  } -> tensor<2x64x48xf16>
  %1 = "xyntra.layer_norm"(%0) {axis = 2 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<2x64x48xf16>) -> tensor<2x64x48xf16>
  return %1 : tensor<2x64x48xf16>
}

#image = affine_map<(n, c, h, w) -> (n, h, w, c)>
#first = affine_map<(n, c, h, w) -> (n, c, h, w)>

// A whole image with its channels last is one row, which a cluster holds where it lies; the image with its channels
// first is made of the result at once, not by way of the row.
// CHECK-LABEL: func.func @image(
// CHECK: %[[N:.+]] = "xyntra.layer_norm"(%arg0) {{.+}} : (tensor<4x40x40x128xf32>) -> tensor<4x40x40x128xf32>
// CHECK: %[[F:.+]] = linalg.generic {{.+}} ins(%[[N]] : tensor<4x40x40x128xf32>) outs(%{{.+}} : tensor<4x128x40x40xf32>)
// CHECK: return %[[F]]
func.func @image(%x: tensor<4x40x40x128xf32>) -> tensor<4x128x40x40xf32> {
  %e = tensor.empty() : tensor<4x128x40x40xf32>
  %0 = linalg.generic {indexing_maps = [#image, #first], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<4x40x40x128xf32>) outs(%e : tensor<4x128x40x40xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<4x128x40x40xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2, 3]] : tensor<4x128x40x40xf32> into tensor<4x204800xf32>
  %2 = "xyntra.layer_norm"(%1) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x204800xf32>) -> tensor<4x204800xf32>
  %3 = tensor.expand_shape %2 [[0], [1, 2, 3]] output_shape [4, 128, 40, 40] : tensor<4x204800xf32> into tensor<4x128x40x40xf32>
  return %3 : tensor<4x128x40x40xf32>
}
