// RUN: %xyntra-opt %s --recognize-attention | FileCheck %s --implicit-check-not=xyntra.attention

// Near misses: each keeps its softmax and gets no attention.

#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
#map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d1, 0, 0)>
#map8 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d2)>

// Softmax along the queries.
// CHECK-LABEL: func.func @another_axis(
// CHECK: "xyntra.softmax"
func.func @another_axis(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %8 = arith.mulf %in, %cst : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 2 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @probabilities_returned(
// CHECK: "xyntra.softmax"
func.func @probabilities_returned(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> (tensor<2x4x3x7xf32>, tensor<2x4x3x5xf32>) {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %7 = arith.mulf %in, %in_0 : f32 %8 = arith.addf %out, %7 : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %3 = "xyntra.softmax"(%2) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %4 = tensor.empty() : tensor<2x4x3x7xf32>
  %5 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%4 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%3, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %7 = arith.mulf %in, %in_0 : f32 %8 = arith.addf %out, %7 : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x7xf32>
  return %6, %3 : tensor<2x4x3x7xf32>, tensor<2x4x3x5xf32>
}

// CHECK-LABEL: func.func @probabilities_used(
// CHECK: "xyntra.softmax"
func.func @probabilities_used(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> (tensor<2x4x3x7xf32>, tensor<2x4x3x5xf32>) {
  %cst = arith.constant 2.000000e+00 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = "xyntra.softmax"(%2) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %4 = tensor.empty() : tensor<2x4x3x7xf32>
  %5 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%4 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%3, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %8 = arith.mulf %in, %cst : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  return %6, %7 : tensor<2x4x3x7xf32>, tensor<2x4x3x5xf32>
}

// CHECK-LABEL: func.func @scores_returned(
// CHECK: "xyntra.softmax"
func.func @scores_returned(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> (tensor<2x4x3x7xf32>, tensor<2x4x3x5xf32>) {
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %8 = arith.mulf %in, %cst : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7, %2 : tensor<2x4x3x7xf32>, tensor<2x4x3x5xf32>
}

// CHECK-LABEL: func.func @two_products(
// CHECK: "xyntra.softmax"
func.func @two_products(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> (tensor<2x4x3x7xf32>, tensor<2x4x3x7xf32>) {
  %cst = arith.constant 2.000000e+00 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %10 = arith.mulf %in, %in_1 : f32 %11 = arith.addf %out, %10 : f32 linalg.yield %11 : f32 } -> tensor<2x4x3x5xf32>
  %3 = "xyntra.softmax"(%2) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %4 = tensor.empty() : tensor<2x4x3x7xf32>
  %5 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%4 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%3, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %10 = arith.mulf %in, %in_1 : f32 %11 = arith.addf %out, %10 : f32 linalg.yield %11 : f32 } -> tensor<2x4x3x7xf32>
  %7 = tensor.empty() : tensor<2x4x5x7xf32>
  %8 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x4x5x7xf32>) outs(%7 : tensor<2x4x5x7xf32>) { ^bb0(%in: f32, %out: f32): %10 = arith.mulf %in, %cst : f32 linalg.yield %10 : f32 } -> tensor<2x4x5x7xf32>
  %9 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%3, %8 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %10 = arith.mulf %in, %in_1 : f32 %11 = arith.addf %out, %10 : f32 linalg.yield %11 : f32 } -> tensor<2x4x3x7xf32>
  return %6, %9 : tensor<2x4x3x7xf32>, tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @of_sines(
// CHECK: "xyntra.softmax"
func.func @of_sines(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %8 = arith.mulf %in, %in_0 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %8 = math.sin %in : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %8 = arith.mulf %in, %in_0 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @dropped_negatives(
// CHECK: "xyntra.softmax"
func.func @dropped_negatives(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  %cst = arith.constant 1.000000e-01 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = "xyntra.softmax"(%2) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %8 = arith.maximumf %in, %cst : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @nan_becomes_one(
// CHECK: "xyntra.softmax"
func.func @nan_becomes_one(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = "xyntra.softmax"(%2) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %8 = arith.cmpf une, %in, %in : f32 %9 = arith.select %8, %cst, %in : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// The operation's constants are f32, which an f64 factor need not be.
// CHECK-LABEL: func.func @in_f64(
// CHECK: "xyntra.softmax"
func.func @in_f64(%arg0: tensor<2x4x3x2xf64>, %arg1: tensor<2x4x5x2xf64>, %arg2: tensor<2x4x5x7xf64>) -> tensor<2x4x3x7xf64> {
  %cst = arith.constant 0.70710678118654746 : f64
  %cst_0 = arith.constant 0.000000e+00 : f64
  %0 = tensor.empty() : tensor<2x4x3x5xf64>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf64>) { ^bb0(%out: f64): linalg.yield %cst_0 : f64 } -> tensor<2x4x3x5xf64>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf64>, tensor<2x4x5x2xf64>) outs(%1 : tensor<2x4x3x5xf64>) { ^bb0(%in: f64, %in_1: f64, %out: f64): %8 = arith.mulf %in, %in_1 : f64 %9 = arith.addf %out, %8 : f64 linalg.yield %9 : f64 } -> tensor<2x4x3x5xf64>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x5xf64>) outs(%0 : tensor<2x4x3x5xf64>) { ^bb0(%in: f64, %out: f64): %8 = arith.mulf %in, %cst : f64 linalg.yield %8 : f64 } -> tensor<2x4x3x5xf64>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf64>) -> tensor<2x4x3x5xf64>
  %5 = tensor.empty() : tensor<2x4x3x7xf64>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf64>) { ^bb0(%out: f64): linalg.yield %cst_0 : f64 } -> tensor<2x4x3x7xf64>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf64>, tensor<2x4x5x7xf64>) outs(%6 : tensor<2x4x3x7xf64>) { ^bb0(%in: f64, %in_1: f64, %out: f64): %8 = arith.mulf %in, %in_1 : f64 %9 = arith.addf %out, %8 : f64 linalg.yield %9 : f64 } -> tensor<2x4x3x7xf64>
  return %7 : tensor<2x4x3x7xf64>
}

// CHECK-LABEL: func.func @infinite_scale(
// CHECK: "xyntra.softmax"
func.func @infinite_scale(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  %cst = arith.constant 0x7F800000 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %8 = arith.mulf %in, %cst : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @nothing_kept(
// CHECK: "xyntra.softmax"
func.func @nothing_kept(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant 0.707106769 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %cst_2 = arith.constant dense<false> : tensor<1x1x3x5xi1>
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %9 = arith.mulf %in, %in_3 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %9 = arith.mulf %in, %cst_0 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %4 = linalg.generic {indexing_maps = [#map5, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2, %3 : tensor<1x1x3x5xi1>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: i1, %in_3: f32, %out: f32): %9 = arith.select %in, %in_3, %cst : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %6 = tensor.empty() : tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<2x4x3x7xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%7 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %9 = arith.mulf %in, %in_3 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x7xf32>
  return %8 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @no_keys(
// CHECK: "xyntra.softmax"
func.func @no_keys(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x0x2xf32>, %arg2: tensor<2x4x0x7xf32>) -> tensor<2x4x3x7xf32> {
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x0xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x0xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x0xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x0x2xf32>) outs(%1 : tensor<2x4x3x0xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x0xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x0xf32>) outs(%0 : tensor<2x4x3x0xf32>) { ^bb0(%in: f32, %out: f32): %8 = arith.mulf %in, %cst : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x0xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x0xf32>) -> tensor<2x4x3x0xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x0xf32>, tensor<2x4x0x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @constant_values(
// CHECK: "xyntra.softmax"
func.func @constant_values(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>) -> tensor<2x4x3x7xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant dense<1.000000e+00> : tensor<2x4x5x7xf32>
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %7 = arith.mulf %in, %in_1 : f32 %8 = arith.addf %out, %7 : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %3 = "xyntra.softmax"(%2) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %4 = tensor.empty() : tensor<2x4x3x7xf32>
  %5 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%4 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%3, %cst_0 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %7 = arith.mulf %in, %in_1 : f32 %8 = arith.addf %out, %7 : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x7xf32>
  return %6 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @filled_with_infinity(
// CHECK: "xyntra.softmax"
func.func @filled_with_infinity(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<3x5xi1>) -> tensor<2x4x3x7xf32> {
  %cst = arith.constant 0x7F800000 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map6, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3, %2 : tensor<3x5xi1>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: i1, %in_1: f32, %out: f32): %8 = arith.select %in, %in_1, %cst : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// Each head has a temperature of its own.
// CHECK-LABEL: func.func @scale_of_tensor(
// CHECK: "xyntra.softmax"
func.func @scale_of_tensor(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<4x1x1xf32>) -> tensor<2x4x3x7xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %8 = arith.mulf %in, %in_0 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map7, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %arg3 : tensor<2x4x3x5xf32>, tensor<4x1x1xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %8 = arith.mulf %in, %in_0 : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %8 = arith.mulf %in, %in_0 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// The mask has the other sign in the end.
// CHECK-LABEL: func.func @negative_scale_after_mask(
// CHECK: "xyntra.softmax"
func.func @negative_scale_after_mask(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<3x5xf32>) -> tensor<2x4x3x7xf32> {
  %cst = arith.constant -0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map6, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %arg3 : tensor<2x4x3x5xf32>, tensor<3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.addf %in, %in_1 : f32 %9 = arith.mulf %8, %cst : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @selected_from_tensor(
// CHECK: "xyntra.softmax"
func.func @selected_from_tensor(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<3x5xi1>, %arg4: tensor<2x4x3x5xf32>) -> tensor<2x4x3x7xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %8 = arith.mulf %in, %in_0 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map6, #map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3, %2, %arg4 : tensor<3x5xi1>, tensor<2x4x3x5xf32>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: i1, %in_0: f32, %in_1: f32, %out: f32): %8 = arith.select %in, %in_0, %in_1 : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %8 = arith.mulf %in, %in_0 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// Replaced, added to, and replaced again.
// CHECK-LABEL: func.func @filled_around_sum(
// CHECK: "xyntra.softmax"
func.func @filled_around_sum(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<3x5xi1>, %arg4: tensor<2x4x3x5xf32>) -> tensor<2x4x3x7xf32> {
  %cst = arith.constant -1.000000e+04 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map6, #map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3, %2, %arg4 : tensor<3x5xi1>, tensor<2x4x3x5xf32>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: i1, %in_1: f32, %in_2: f32, %out: f32): %8 = arith.select %in, %in_1, %cst : f32 %9 = arith.addf %8, %in_2 : f32 %10 = arith.select %in, %9, %cst : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @three_biases(
// CHECK: "xyntra.softmax"
func.func @three_biases(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<3x5xf32>, %arg4: tensor<2x4x3x5xf32>) -> tensor<2x4x3x7xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %8 = arith.mulf %in, %in_0 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map6, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %arg3, %arg4 : tensor<2x4x3x5xf32>, tensor<3x5xf32>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %in_1: f32, %out: f32): %8 = arith.addf %in, %in_0 : f32 %9 = arith.addf %8, %in_1 : f32 %10 = arith.addf %9, %in_1 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %8 = arith.mulf %in, %in_0 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @filled_between_sums(
// CHECK: "xyntra.softmax"
func.func @filled_between_sums(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<3x5xi1>, %arg4: tensor<2x4x3x5xf32>) -> tensor<2x4x3x7xf32> {
  %cst = arith.constant -1.000000e+04 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map6, #map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3, %2, %arg4 : tensor<3x5xi1>, tensor<2x4x3x5xf32>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: i1, %in_1: f32, %in_2: f32, %out: f32): %8 = arith.addf %in_1, %in_2 : f32 %9 = arith.select %in, %8, %cst : f32 %10 = arith.addf %9, %in_2 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// Probabilities summed over queries: the second product has the wrong dimension.
// CHECK-LABEL: func.func @along_rows(
// CHECK: "xyntra.softmax"
func.func @along_rows(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x3x7xf32>) -> tensor<2x4x5x7xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %7 = arith.mulf %in, %in_0 : f32 %8 = arith.addf %out, %7 : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %3 = "xyntra.softmax"(%2) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %4 = tensor.empty() : tensor<2x4x5x7xf32>
  %5 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%4 : tensor<2x4x5x7xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x5x7xf32>
  %6 = linalg.generic {indexing_maps = [#map8, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%3, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x3x7xf32>) outs(%5 : tensor<2x4x5x7xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %7 = arith.mulf %in, %in_0 : f32 %8 = arith.addf %out, %7 : f32 linalg.yield %8 : f32 } -> tensor<2x4x5x7xf32>
  return %6 : tensor<2x4x5x7xf32>
}

// A hyperbolic tangent of another one.
// CHECK-LABEL: func.func @capped_twice(
// CHECK: "xyntra.softmax"
func.func @capped_twice(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  %cst = arith.constant 3.000000e-02 : f32
  %cap = arith.constant 5.000000e+01 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %8 = arith.mulf %in, %cst : f32 %9 = math.tanh %8 : f32 %10 = arith.mulf %9, %cap : f32 %11 = math.tanh %10 : f32 linalg.yield %11 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// Rows become 0 by the largest of other scores than the softmax's, before the bias.
// CHECK-LABEL: func.func @rows_of_other_scores(
// CHECK: "xyntra.softmax"
func.func @rows_of_other_scores(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<2x4x3x5xf32>) -> tensor<2x4x3x7xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %low = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %7 = arith.mulf %in, %in_0 : f32 %8 = arith.addf %out, %7 : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %scores = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %arg3 : tensor<2x4x3x5xf32>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %7 = arith.addf %in, %in_0 : f32 linalg.yield %7 : f32 } -> tensor<2x4x3x5xf32>
  %3 = "xyntra.softmax"(%scores) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %rows = tensor.empty() : tensor<2x4x3xf32>
  %start = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%rows : tensor<2x4x3xf32>) { ^bb0(%out: f32): linalg.yield %low : f32 } -> tensor<2x4x3xf32>
  %most = linalg.generic {indexing_maps = [#map, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%2 : tensor<2x4x3x5xf32>) outs(%start : tensor<2x4x3xf32>) { ^bb0(%in: f32, %out: f32): %7 = arith.maximumf %out, %in : f32 linalg.yield %7 : f32 } -> tensor<2x4x3xf32>
  %kept = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%most, %3 : tensor<2x4x3xf32>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %7 = arith.cmpf oeq, %in, %low : f32 %8 = arith.select %7, %cst, %in_0 : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %4 = tensor.empty() : tensor<2x4x3x7xf32>
  %5 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%4 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%kept, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %7 = arith.mulf %in, %in_0 : f32 %8 = arith.addf %out, %7 : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x7xf32>
  return %6 : tensor<2x4x3x7xf32>
}

// The largest scores are a result, too.
// CHECK-LABEL: func.func @largest_scores_are_wanted(
// CHECK: "xyntra.softmax"
func.func @largest_scores_are_wanted(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<2x4x3x5xf32>) -> (tensor<2x4x3x7xf32>, tensor<2x4x3xf32>) {
  %cst = arith.constant 0.000000e+00 : f32
  %low = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %7 = arith.mulf %in, %in_0 : f32 %8 = arith.addf %out, %7 : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %scores = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %arg3 : tensor<2x4x3x5xf32>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %7 = arith.addf %in, %in_0 : f32 linalg.yield %7 : f32 } -> tensor<2x4x3x5xf32>
  %3 = "xyntra.softmax"(%scores) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %rows = tensor.empty() : tensor<2x4x3xf32>
  %start = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%rows : tensor<2x4x3xf32>) { ^bb0(%out: f32): linalg.yield %low : f32 } -> tensor<2x4x3xf32>
  %most = linalg.generic {indexing_maps = [#map, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%scores : tensor<2x4x3x5xf32>) outs(%start : tensor<2x4x3xf32>) { ^bb0(%in: f32, %out: f32): %7 = arith.maximumf %out, %in : f32 linalg.yield %7 : f32 } -> tensor<2x4x3xf32>
  %kept = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%most, %3 : tensor<2x4x3xf32>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %7 = arith.cmpf oeq, %in, %low : f32 %8 = arith.select %7, %cst, %in_0 : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %4 = tensor.empty() : tensor<2x4x3x7xf32>
  %5 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%4 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%kept, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %7 = arith.mulf %in, %in_0 : f32 %8 = arith.addf %out, %7 : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x7xf32>
  return %6, %most : tensor<2x4x3x7xf32>, tensor<2x4x3xf32>
}
