// RUN: %xyntra-opt %s --fuse-operations | FileCheck %s

// A group that comes behind one that reads from it may have been merged with that one before its own
// turn: it must not be merged with itself, which would leave operations in a region twice.
// CHECK: "xyntra.fused"
// CHECK-COUNT-1: math.sin
// CHECK-NOT: math.sin
// CHECK: return
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>
#map4 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d1)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, d3)>
#map7 = affine_map<(d0, d1) -> (d0, 0)>
#map8 = affine_map<(d0) -> (d0)>
module attributes {xyntra.parameters = "model.onnx"} {
  func.func @main(%arg0: tensor<1x2xf32> {xyntra.dtype = "float32", xyntra.input = "v1"}, %arg1: tensor<4x1x3x1xf32> {xyntra.dtype = "float32", xyntra.input = "v47"}, %arg2: tensor<1x6x17x1xf32> {xyntra.dtype = "float32", xyntra.input = "v35"}) -> (tensor<1x2x1xf32> {xyntra.dtype = "float32", xyntra.output = "v84"}, tensor<3xf32> {xyntra.dtype = "float32", xyntra.output = "v39"}, tensor<1xi64> {xyntra.dtype = "int64", xyntra.output = "v99"}, tensor<1x2xf32> {xyntra.dtype = "float32", xyntra.output = "v105"}, tensor<1xi64> {xyntra.dtype = "int64", xyntra.output = "v92"}, tensor<1x3x18x1xf32> {xyntra.dtype = "float32", xyntra.output = "v41"}, tensor<1x2xf32> {xyntra.dtype = "float32", xyntra.output = "v77"}, tensor<2xi64> {xyntra.dtype = "int64", xyntra.output = "v103"}, tensor<4x1x3x1xf32> {xyntra.dtype = "float32", xyntra.output = "v50"}) {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<[[[[1]]], [[[0]]], [[[1]]], [[[0]]]]> : tensor<4x1x1x1xi64>
    %cst_0 = arith.constant dense<[1, 2]> : tensor<2xi64>
    %cst_1 = arith.constant dense<1> : tensor<1xi64>
    %cst_2 = arith.constant dense<2> : tensor<1xi64>
    %c0_i64 = arith.constant 0 : i64
    %c2_i64 = arith.constant 2 : i64
    %cst_3 = arith.constant dense<[[[[-0.263984084], [-0.107236601]]], [[[1.50216949], [0.90316081]]], [[[0.826891899], [-2.78514743]]], [[[-0.562728643], [-0.993342041]]]]> : tensor<4x1x2x1xf32>
    %cst_4 = arith.constant dense<[-0.518923223, -1.45583415, -1.21082008]> : tensor<3xf32>
    %cst_5 = arith.constant 0.000000e+00 : f32
    %cst_6 = arith.constant dense<1.0> : tensor<3x6x3x3xf32>
    %cst_7 = arith.constant dense<[[1.55767155, -2.005420e+00]]> : tensor<1x2xf32>
    %extracted_slice = tensor.extract_slice %arg0[0, 0] [1, 1] [1, 1] : tensor<1x2xf32> to tensor<1x1xf32>
    %extracted_slice_8 = tensor.extract_slice %arg0[0, 1] [1, 1] [1, 1] : tensor<1x2xf32> to tensor<1x1xf32>
    %0 = tensor.empty() : tensor<1x1xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice_8 : tensor<1x1xf32>) outs(%0 : tensor<1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %31 = arith.negf %in : f32
      linalg.yield %31 : f32
    } -> tensor<1x1xf32>
    %2 = tensor.empty() : tensor<1x2xf32>
    %inserted_slice = tensor.insert_slice %1 into %2[0, 0] [1, 1] [1, 1] : tensor<1x1xf32> into tensor<1x2xf32>
    %inserted_slice_9 = tensor.insert_slice %extracted_slice into %inserted_slice[0, 1] [1, 1] [1, 1] : tensor<1x1xf32> into tensor<1x2xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0, %cst_7 : tensor<1x2xf32>, tensor<1x2xf32>) outs(%2 : tensor<1x2xf32>) {
    ^bb0(%in: f32, %in_14: f32, %out: f32):
      %31 = arith.mulf %in, %in_14 : f32
      linalg.yield %31 : f32
    } -> tensor<1x2xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%inserted_slice_9, %inserted_slice_9 : tensor<1x2xf32>, tensor<1x2xf32>) outs(%2 : tensor<1x2xf32>) {
    ^bb0(%in: f32, %in_14: f32, %out: f32):
      %31 = arith.mulf %in, %in_14 : f32
      linalg.yield %31 : f32
    } -> tensor<1x2xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%3, %4 : tensor<1x2xf32>, tensor<1x2xf32>) outs(%2 : tensor<1x2xf32>) {
    ^bb0(%in: f32, %in_14: f32, %out: f32):
      %31 = arith.addf %in, %in_14 : f32
      linalg.yield %31 : f32
    } -> tensor<1x2xf32>
    %padded = tensor.pad %arg2 low[0, 0, 1, 1] high[0, 0, 2, 1] {
    ^bb0(%arg3: index, %arg4: index, %arg5: index, %arg6: index):
      tensor.yield %cst_5 : f32
    } : tensor<1x6x17x1xf32> to tensor<1x6x20x3xf32>
    %6 = tensor.empty() : tensor<1x3x18x1xf32>
    %7 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<1x3x18x1xf32>) {
    ^bb0(%out: f32):
      linalg.yield %cst_5 : f32
    } -> tensor<1x3x18x1xf32>
    %8 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%padded, %cst_6 : tensor<1x6x20x3xf32>, tensor<3x6x3x3xf32>) outs(%7 : tensor<1x3x18x1xf32>) {
    ^bb0(%in: f32, %in_14: f32, %out: f32):
      %31 = arith.mulf %in, %in_14 : f32
      %32 = arith.addf %out, %31 : f32
      linalg.yield %32 : f32
    } -> tensor<1x3x18x1xf32>
    %9 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8, %cst_4 : tensor<1x3x18x1xf32>, tensor<3xf32>) outs(%6 : tensor<1x3x18x1xf32>) {
    ^bb0(%in: f32, %in_14: f32, %out: f32):
      %31 = arith.addf %in, %in_14 : f32
      linalg.yield %31 : f32
    } -> tensor<1x3x18x1xf32>
    %10 = tensor.empty() : tensor<4x1x3x1xf32>
    %11 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1, %cst : tensor<4x1x3x1xf32>, tensor<4x1x1x1xi64>) outs(%10 : tensor<4x1x3x1xf32>) {
    ^bb0(%in: f32, %in_14: i64, %out: f32):
      %31 = linalg.index 2 : index
      %32 = arith.index_cast %31 : index to i64
      %33 = arith.subi %32, %in_14 : i64
      %34 = arith.cmpi ult, %33, %c2_i64 : i64
      %35 = arith.select %34, %33, %c0_i64 : i64
      %36 = arith.index_cast %35 : i64 to index
      %37 = linalg.index 0 : index
      %extracted = tensor.extract %cst_3[%37, %c0, %36, %c0] : tensor<4x1x2x1xf32>
      %38 = arith.select %34, %extracted, %in : f32
      linalg.yield %38 : f32
    } -> tensor<4x1x3x1xf32>
    %extracted_slice_10 = tensor.extract_slice %5[0, 0] [1, 1] [1, 1] : tensor<1x2xf32> to tensor<1x1xf32>
    %extracted_slice_11 = tensor.extract_slice %5[0, 1] [1, 1] [1, 1] : tensor<1x2xf32> to tensor<1x1xf32>
    %12 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice_11 : tensor<1x1xf32>) outs(%0 : tensor<1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %31 = arith.negf %in : f32
      linalg.yield %31 : f32
    } -> tensor<1x1xf32>
    %inserted_slice_12 = tensor.insert_slice %12 into %2[0, 0] [1, 1] [1, 1] : tensor<1x1xf32> into tensor<1x2xf32>
    %inserted_slice_13 = tensor.insert_slice %extracted_slice_10 into %inserted_slice_12[0, 1] [1, 1] [1, 1] : tensor<1x1xf32> into tensor<1x2xf32>
    %13 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%5, %inserted_slice_9 : tensor<1x2xf32>, tensor<1x2xf32>) outs(%2 : tensor<1x2xf32>) {
    ^bb0(%in: f32, %in_14: f32, %out: f32):
      %31 = arith.mulf %in, %in_14 : f32
      linalg.yield %31 : f32
    } -> tensor<1x2xf32>
    %14 = linalg.generic {indexing_maps = [#map, #map7, #map], iterator_types = ["parallel", "parallel"]} ins(%inserted_slice_13, %1 : tensor<1x2xf32>, tensor<1x1xf32>) outs(%2 : tensor<1x2xf32>) {
    ^bb0(%in: f32, %in_14: f32, %out: f32):
      %31 = arith.mulf %in, %in_14 : f32
      linalg.yield %31 : f32
    } -> tensor<1x2xf32>
    %15 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%13, %14 : tensor<1x2xf32>, tensor<1x2xf32>) outs(%2 : tensor<1x2xf32>) {
    ^bb0(%in: f32, %in_14: f32, %out: f32):
      %31 = arith.addf %in, %in_14 : f32
      linalg.yield %31 : f32
    } -> tensor<1x2xf32>
    %16 = tensor.empty() : tensor<1x2xf32>
    %17 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%5 : tensor<1x2xf32>) outs(%16 : tensor<1x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %31 = math.absf %in : f32
      linalg.yield %31 : f32
    } -> tensor<1x2xf32>
    %18 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%17 : tensor<1x2xf32>) outs(%16 : tensor<1x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %31 = math.sin %in : f32
      linalg.yield %31 : f32
    } -> tensor<1x2xf32>
    %19 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%18 : tensor<1x2xf32>) outs(%16 : tensor<1x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %31 = math.tanh %in : f32
      linalg.yield %31 : f32
    } -> tensor<1x2xf32>
    %20 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%19 : tensor<1x2xf32>) outs(%16 : tensor<1x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %31 = math.sqrt %in : f32
      linalg.yield %31 : f32
    } -> tensor<1x2xf32>
    %expanded = tensor.expand_shape %20 [[0], [1, 2]] output_shape [1, 2, 1] : tensor<1x2xf32> into tensor<1x2x1xf32>
    %21 = tensor.empty() : tensor<3xf32>
    %22 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel"]} ins(%cst_4 : tensor<3xf32>) outs(%21 : tensor<3xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3xf32>
    %23 = tensor.empty() : tensor<1xi64>
    %24 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel"]} ins(%cst_2 : tensor<1xi64>) outs(%23 : tensor<1xi64>) {
    ^bb0(%in: i64, %out: i64):
      linalg.yield %in : i64
    } -> tensor<1xi64>
    %25 = tensor.empty() : tensor<1x2xf32>
    %26 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%20 : tensor<1x2xf32>) outs(%25 : tensor<1x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2xf32>
    %27 = tensor.empty() : tensor<1xi64>
    %28 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel"]} ins(%cst_1 : tensor<1xi64>) outs(%27 : tensor<1xi64>) {
    ^bb0(%in: i64, %out: i64):
      linalg.yield %in : i64
    } -> tensor<1xi64>
    %29 = tensor.empty() : tensor<2xi64>
    %30 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel"]} ins(%cst_0 : tensor<2xi64>) outs(%29 : tensor<2xi64>) {
    ^bb0(%in: i64, %out: i64):
      linalg.yield %in : i64
    } -> tensor<2xi64>
    return %expanded, %22, %24, %26, %28, %9, %15, %30, %11 : tensor<1x2x1xf32>, tensor<3xf32>, tensor<1xi64>, tensor<1x2xf32>, tensor<1xi64>, tensor<1x3x18x1xf32>, tensor<1x2xf32>, tensor<2xi64>, tensor<4x1x3x1xf32>
  }
}
