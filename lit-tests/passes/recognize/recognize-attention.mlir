// RUN: %xyntra-opt %s --recognize-attention --canonicalize --cse | FileCheck %s

// Extents: 1 batch, 2 heads, 3 queries, 4 keys of size 2, values of size 5.

// CHECK-DAG: #[[$AT_0HSD:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d1, d2, d4)>
// CHECK-DAG: #[[$AT_0HTD:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d1, d3, d4)>
// CHECK-DAG: #[[$AT_0HTE:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d1, d3, d5)>
// CHECK-DAG: #[[$AT_0HSE:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d1, d2, d5)>
// CHECK-DAG: #[[$AT_000T:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, 0, 0, d3)>
// CHECK-DAG: #[[$AT_HST:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d3)>
// CHECK-DAG: #[[$AT_00ST:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, 0, d2, d3)>
// CHECK-DAG: #[[$AT_ST:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d3)>
// CHECK-DAG: #[[$AT_0HST:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d1, d2, d3)>
// CHECK-DAG: #[[$AT_0SH2_D:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d2, d1 * 2 + d4)>
// CHECK-DAG: #[[$AT_0TH2_D_4:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d3, d1 * 2 + d4 + 4)>
// CHECK-DAG: #[[$AT_0TH2_E_8:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d3, d1 * 2 + d5 + 8)>
// CHECK-DAG: #[[$AT_0SH2_E:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d2, d1 * 2 + d5)>
// CHECK-DAG: #[[$AT_SD:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d4)>
// CHECK-DAG: #[[$AT_TD:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d4)>
// CHECK-DAG: #[[$AT_TE:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d5)>
// CHECK-DAG: #[[$AT_SE:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d5)>
// CHECK-DAG: #[[$AT_00TD:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, 0, d3, d4)>
// CHECK-DAG: #[[$AT_00TE:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, 0, d3, d5)>
// CHECK-DAG: #[[$AT_0TD:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d3, d4)>
// CHECK-DAG: #[[$AT_0TE:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d3, d5)>
// CHECK-DAG: #[[$AT_0BHD:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d0, d1, d4)>
// CHECK-DAG: #[[$AT_0BTE:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d0, d3, d5)>
// CHECK-DAG: #[[$AT_0BHE:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d0, d1, d5)>

#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
#map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3)>
#map5 = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
#map6 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>
#map11 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map12 = affine_map<(d0, d1, d2, d3) -> (d0, 0, 0, d3)>
#map13 = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>
#map14 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>
#map15 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
#map16 = affine_map<(d0, d1) -> (d0, d1)>
#map17 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map18 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map19 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map20 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map21 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, 0, d3, d4)>
#map22 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map23 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d5)>
#map24 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5)>
#map25 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
#map26 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d5, d4)>
#map27 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>
#map28 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>
#map29 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3, d4)>

// CHECK-LABEL: func.func @scale_after(
func.func @scale_after(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x2x4x2xf32>, %arg2: tensor<1x2x4x5xf32>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0HTD]], #[[$AT_0HTE]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<1x2x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x4xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x2x3x2xf32>, tensor<1x2x4x2xf32>) outs(%1 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %out: f32): %8 = arith.mulf %in, %cst : f32 linalg.yield %8 : f32 } -> tensor<1x2x3x4xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %5 = tensor.empty() : tensor<1x2x3x5xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x5xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>) outs(%6 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x5xf32>
  return %7 : tensor<1x2x3x5xf32>
}

// CHECK-LABEL: func.func @divided_after(
func.func @divided_after(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x2x4x2xf32>, %arg2: tensor<1x2x4x5xf32>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0HTD]], #[[$AT_0HTE]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 1.41421354 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<1x2x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x4xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x2x3x2xf32>, tensor<1x2x4x2xf32>) outs(%1 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %out: f32): %8 = arith.divf %in, %cst : f32 linalg.yield %8 : f32 } -> tensor<1x2x3x4xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %5 = tensor.empty() : tensor<1x2x3x5xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x5xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>) outs(%6 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x5xf32>
  return %7 : tensor<1x2x3x5xf32>
}

// CHECK-LABEL: func.func @scale_on_query(
func.func @scale_on_query(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x2x4x2xf32>, %arg2: tensor<1x2x4x5xf32>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0HTD]], #[[$AT_0HTE]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0.707106769 : f32
  %0 = tensor.empty() : tensor<1x2x3x2xf32>
  %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<1x2x3x2xf32>) outs(%0 : tensor<1x2x3x2xf32>) { ^bb0(%in: f32, %out: f32): %9 = arith.mulf %in, %cst_0 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x2xf32>
  %2 = tensor.empty() : tensor<1x2x3x4xf32>
  %3 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%2 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<1x2x3x4xf32>
  %4 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1, %arg1 : tensor<1x2x3x2xf32>, tensor<1x2x4x2xf32>) outs(%3 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.mulf %in, %in_1 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x4xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %6 = tensor.empty() : tensor<1x2x3x5xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<1x2x3x5xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>) outs(%7 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.mulf %in, %in_1 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x5xf32>
  return %8 : tensor<1x2x3x5xf32>
}

// CHECK-LABEL: func.func @scale_on_key(
func.func @scale_on_key(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x2x4x2xf32>, %arg2: tensor<1x2x4x5xf32>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0HTD]], #[[$AT_0HTE]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0.707106769 : f32
  %0 = tensor.empty() : tensor<1x2x4x2xf32>
  %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<1x2x4x2xf32>) outs(%0 : tensor<1x2x4x2xf32>) { ^bb0(%in: f32, %out: f32): %9 = arith.mulf %in, %cst_0 : f32 linalg.yield %9 : f32 } -> tensor<1x2x4x2xf32>
  %2 = tensor.empty() : tensor<1x2x3x4xf32>
  %3 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%2 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<1x2x3x4xf32>
  %4 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %1 : tensor<1x2x3x2xf32>, tensor<1x2x4x2xf32>) outs(%3 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.mulf %in, %in_1 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x4xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %6 = tensor.empty() : tensor<1x2x3x5xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<1x2x3x5xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>) outs(%7 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.mulf %in, %in_1 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x5xf32>
  return %8 : tensor<1x2x3x5xf32>
}

// As torch exports scaled_dot_product_attention: key transposed, NaN replaced by 0.
// CHECK-LABEL: func.func @scale_on_both(
func.func @scale_on_both(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x2x4x2xf32>, %arg2: tensor<1x2x4x5xf32>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0HTD]], #[[$AT_0HTE]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "zero", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 0.707106829 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0.840896427 : f32
  %collapsed = tensor.collapse_shape %arg1 [[0, 1], [2], [3]] : tensor<1x2x4x2xf32> into tensor<2x4x2xf32>
  %0 = tensor.empty() : tensor<2x2x4xf32>
  %1 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed : tensor<2x4x2xf32>) outs(%0 : tensor<2x2x4xf32>) { ^bb0(%in: f32, %out: f32): linalg.yield %in : f32 } -> tensor<2x2x4xf32>
  %expanded = tensor.expand_shape %1 [[0, 1], [2], [3]] output_shape [1, 2, 2, 4] : tensor<2x2x4xf32> into tensor<1x2x2x4xf32>
  %2 = tensor.empty() : tensor<1x2x2x4xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<1x2x2x4xf32>) outs(%2 : tensor<1x2x2x4xf32>) { ^bb0(%in: f32, %out: f32): %16 = arith.mulf %in, %cst_0 : f32 linalg.yield %16 : f32 } -> tensor<1x2x2x4xf32>
  %4 = tensor.empty() : tensor<1x2x3x2xf32>
  %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<1x2x3x2xf32>) outs(%4 : tensor<1x2x3x2xf32>) { ^bb0(%in: f32, %out: f32): %16 = arith.mulf %in, %cst_0 : f32 linalg.yield %16 : f32 } -> tensor<1x2x3x2xf32>
  %6 = tensor.empty() : tensor<1x2x3x4xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<1x2x3x4xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %3 : tensor<1x2x3x2xf32>, tensor<1x2x2x4xf32>) outs(%7 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %16 = arith.mulf %in, %in_1 : f32 %17 = arith.addf %out, %16 : f32 linalg.yield %17 : f32 } -> tensor<1x2x3x4xf32>
  %9 = "xyntra.softmax"(%8) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %10 = tensor.empty() : tensor<1x2x3x4xi1>
  %11 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<1x2x3x4xf32>) outs(%10 : tensor<1x2x3x4xi1>) { ^bb0(%in: f32, %out: i1): %16 = arith.cmpf une, %in, %in : f32 linalg.yield %16 : i1 } -> tensor<1x2x3x4xi1>
  %12 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11, %9 : tensor<1x2x3x4xi1>, tensor<1x2x3x4xf32>) outs(%6 : tensor<1x2x3x4xf32>) { ^bb0(%in: i1, %in_1: f32, %out: f32): %16 = arith.select %in, %cst, %in_1 : f32 linalg.yield %16 : f32 } -> tensor<1x2x3x4xf32>
  %13 = tensor.empty() : tensor<1x2x3x5xf32>
  %14 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%13 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<1x2x3x5xf32>
  %15 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%12, %arg2 : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>) outs(%14 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %16 = arith.mulf %in, %in_1 : f32 %17 = arith.addf %out, %16 : f32 linalg.yield %17 : f32 } -> tensor<1x2x3x5xf32>
  return %15 : tensor<1x2x3x5xf32>
}

// Batch and heads in one dimension, as torch.bmm wants it, the key transposed.
// CHECK-LABEL: func.func @batches_of_heads(
func.func @batches_of_heads(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x2x4x2xf32>, %arg2: tensor<1x2x4x5xf32>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0HTD]], #[[$AT_0HTE]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<1x2x3x2xf32> into tensor<2x3x2xf32>
  %collapsed_1 = tensor.collapse_shape %arg1 [[0, 1], [2], [3]] : tensor<1x2x4x2xf32> into tensor<2x4x2xf32>
  %collapsed_2 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<1x2x4x5xf32> into tensor<2x4x5xf32>
  %0 = tensor.empty() : tensor<2x2x4xf32>
  %1 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_1 : tensor<2x4x2xf32>) outs(%0 : tensor<2x2x4xf32>) { ^bb0(%in: f32, %out: f32): linalg.yield %in : f32 } -> tensor<2x2x4xf32>
  %2 = tensor.empty() : tensor<2x3x4xf32>
  %3 = linalg.generic {indexing_maps = [#map6], iterator_types = ["parallel", "parallel", "parallel"]} outs(%2 : tensor<2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x3x4xf32>
  %4 = linalg.generic {indexing_maps = [#map7, #map8, #map9], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%collapsed, %1 : tensor<2x3x2xf32>, tensor<2x2x4xf32>) outs(%3 : tensor<2x3x4xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %10 = arith.mulf %in, %in_3 : f32 %11 = arith.addf %out, %10 : f32 linalg.yield %11 : f32 } -> tensor<2x3x4xf32>
  %5 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4 : tensor<2x3x4xf32>) outs(%2 : tensor<2x3x4xf32>) { ^bb0(%in: f32, %out: f32): %10 = arith.mulf %in, %cst : f32 linalg.yield %10 : f32 } -> tensor<2x3x4xf32>
  %6 = "xyntra.softmax"(%5) {axis = 2 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %7 = tensor.empty() : tensor<2x3x5xf32>
  %8 = linalg.generic {indexing_maps = [#map6], iterator_types = ["parallel", "parallel", "parallel"]} outs(%7 : tensor<2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x3x5xf32>
  %9 = linalg.generic {indexing_maps = [#map7, #map8, #map9], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%6, %collapsed_2 : tensor<2x3x4xf32>, tensor<2x4x5xf32>) outs(%8 : tensor<2x3x5xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %10 = arith.mulf %in, %in_3 : f32 %11 = arith.addf %out, %10 : f32 linalg.yield %11 : f32 } -> tensor<2x3x5xf32>
  %expanded = tensor.expand_shape %9 [[0, 1], [2], [3]] output_shape [1, 2, 3, 5] : tensor<2x3x5xf32> into tensor<1x2x3x5xf32>
  return %expanded : tensor<1x2x3x5xf32>
}

// CHECK-LABEL: func.func @causal_by_index(
func.func @causal_by_index(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x2x4x2xf32>, %arg2: tensor<1x2x4x5xf32>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = true, causal_offset = 1 : i64, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0HTD]], #[[$AT_0HTE]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0xFF800000 : f32
  %c1_i64 = arith.constant 1 : i64
  %cst_0 = arith.constant 0.707106769 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<1x2x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<1x2x3x4xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x2x3x2xf32>, tensor<1x2x4x2xf32>) outs(%1 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_2: f32, %out: f32): %9 = arith.mulf %in, %in_2 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x4xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %out: f32): %9 = arith.mulf %in, %cst_0 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3 : tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %out: f32): %9 = linalg.index 3 : index %10 = arith.index_cast %9 : index to i64 %11 = linalg.index 2 : index %12 = arith.index_cast %11 : index to i64 %13 = arith.addi %12, %c1_i64 : i64 %14 = arith.cmpi sle, %10, %13 : i64 %15 = arith.select %14, %in, %cst : f32 linalg.yield %15 : f32 } -> tensor<1x2x3x4xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %6 = tensor.empty() : tensor<1x2x3x5xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<1x2x3x5xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>) outs(%7 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_2: f32, %out: f32): %9 = arith.mulf %in, %in_2 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x5xf32>
  return %8 : tensor<1x2x3x5xf32>
}

// CHECK-LABEL: func.func @causal_by_constant(
func.func @causal_by_constant(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x2x4x2xf32>, %arg2: tensor<1x2x4x5xf32>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = true, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0HTD]], #[[$AT_0HTE]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant 0.707106769 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %cst_2 = arith.constant dense<[[[[true, false, false, false], [true, true, false, false], [true, true, true, false]]]]> : tensor<1x1x3x4xi1>
  %0 = tensor.empty() : tensor<1x2x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<1x2x3x4xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x2x3x2xf32>, tensor<1x2x4x2xf32>) outs(%1 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %9 = arith.mulf %in, %in_3 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x4xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %out: f32): %9 = arith.mulf %in, %cst_0 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %4 = linalg.generic {indexing_maps = [#map10, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2, %3 : tensor<1x1x3x4xi1>, tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: i1, %in_3: f32, %out: f32): %9 = arith.select %in, %in_3, %cst : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %6 = tensor.empty() : tensor<1x2x3x5xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<1x2x3x5xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>) outs(%7 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %9 = arith.mulf %in, %in_3 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x5xf32>
  return %8 : tensor<1x2x3x5xf32>
}

// CHECK-LABEL: func.func @causal_by_opposite(
func.func @causal_by_opposite(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x2x4x2xf32>, %arg2: tensor<1x2x4x5xf32>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = true, fill = -1.000000e+09 : f32, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0HTD]], #[[$AT_0HTE]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant -1.000000e+09 : f32
  %cst_0 = arith.constant 0.707106769 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %cst_2 = arith.constant dense<[[false, true, true, true], [false, false, true, true], [false, false, false, true]]> : tensor<3x4xi1>
  %0 = tensor.empty() : tensor<1x2x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<1x2x3x4xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x2x3x2xf32>, tensor<1x2x4x2xf32>) outs(%1 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %9 = arith.mulf %in, %in_3 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x4xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %out: f32): %9 = arith.mulf %in, %cst_0 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %4 = linalg.generic {indexing_maps = [#map11, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2, %3 : tensor<3x4xi1>, tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: i1, %in_3: f32, %out: f32): %9 = arith.select %in, %cst, %in_3 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %6 = tensor.empty() : tensor<1x2x3x5xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<1x2x3x5xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>) outs(%7 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %9 = arith.mulf %in, %in_3 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x5xf32>
  return %8 : tensor<1x2x3x5xf32>
}

// f16 operands, products and softmax in f32.
// CHECK-LABEL: func.func @half_precision(
func.func @half_precision(%arg0: tensor<1x2x3x2xf16>, %arg1: tensor<1x2x4x2xf16>, %arg2: tensor<1x2x4x5xf16>) -> tensor<1x2x3x5xf16> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0HTD]], #[[$AT_0HTE]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<1x2x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x4xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x2x3x2xf16>, tensor<1x2x4x2xf16>) outs(%1 : tensor<1x2x3x4xf32>) { ^bb0(%in: f16, %in_1: f16, %out: f32): %12 = arith.extf %in : f16 to f32 %13 = arith.extf %in_1 : f16 to f32 %14 = arith.mulf %12, %13 : f32 %15 = arith.addf %out, %14 : f32 linalg.yield %15 : f32 } -> tensor<1x2x3x4xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %out: f32): %12 = arith.mulf %in, %cst : f32 linalg.yield %12 : f32 } -> tensor<1x2x3x4xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %5 = tensor.empty() : tensor<1x2x3x4xf16>
  %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%4 : tensor<1x2x3x4xf32>) outs(%5 : tensor<1x2x3x4xf16>) { ^bb0(%in: f32, %out: f16): %12 = arith.truncf %in : f32 to f16 linalg.yield %12 : f16 } -> tensor<1x2x3x4xf16>
  %7 = tensor.empty() : tensor<1x2x3x5xf32>
  %8 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%7 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x5xf32>
  %9 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%6, %arg2 : tensor<1x2x3x4xf16>, tensor<1x2x4x5xf16>) outs(%8 : tensor<1x2x3x5xf32>) { ^bb0(%in: f16, %in_1: f16, %out: f32): %12 = arith.extf %in : f16 to f32 %13 = arith.extf %in_1 : f16 to f32 %14 = arith.mulf %12, %13 : f32 %15 = arith.addf %out, %14 : f32 linalg.yield %15 : f32 } -> tensor<1x2x3x5xf32>
  %10 = tensor.empty() : tensor<1x2x3x5xf16>
  %11 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<1x2x3x5xf32>) outs(%10 : tensor<1x2x3x5xf16>) { ^bb0(%in: f32, %out: f16): %12 = arith.truncf %in : f32 to f16 linalg.yield %12 : f16 } -> tensor<1x2x3x5xf16>
  return %11 : tensor<1x2x3x5xf16>
}

// CHECK-LABEL: func.func @added_mask(
func.func @added_mask(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x2x4x2xf32>, %arg2: tensor<1x2x4x5xf32>, %arg3: tensor<1x1x1x4xf32>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2, %arg3) {causal = false, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0HTD]], #[[$AT_0HTE]], #[[$AT_000T]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>, scale = 0.707106769 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<1x2x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x4xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x2x3x2xf32>, tensor<1x2x4x2xf32>) outs(%1 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.mulf %in, %in_1 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x4xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %out: f32): %9 = arith.mulf %in, %cst : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map12, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3, %arg3 : tensor<1x2x3x4xf32>, tensor<1x1x1x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.addf %in, %in_1 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %6 = tensor.empty() : tensor<1x2x3x5xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x5xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>) outs(%7 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.mulf %in, %in_1 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x5xf32>
  return %8 : tensor<1x2x3x5xf32>
}

// CHECK-LABEL: func.func @mask_plus_scores(
func.func @mask_plus_scores(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x2x4x2xf32>, %arg2: tensor<1x2x4x5xf32>, %arg3: tensor<2x3x4xf32>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2, %arg3) {causal = false, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0HTD]], #[[$AT_0HTE]], #[[$AT_HST]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>, scale = 1.000000e+00 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<1x2x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<1x2x3x4xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x2x3x2xf32>, tensor<1x2x4x2xf32>) outs(%1 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %8 = arith.mulf %in, %in_0 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %3 = linalg.generic {indexing_maps = [#map13, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3, %2 : tensor<2x3x4xf32>, tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %8 = arith.addf %in, %in_0 : f32 linalg.yield %8 : f32 } -> tensor<1x2x3x4xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %5 = tensor.empty() : tensor<1x2x3x5xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<1x2x3x5xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>) outs(%6 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %8 = arith.mulf %in, %in_0 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x5xf32>
  return %7 : tensor<1x2x3x5xf32>
}

// CHECK-LABEL: func.func @kept(
func.func @kept(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x2x4x2xf32>, %arg2: tensor<1x2x4x5xf32>, %arg3: tensor<1x1x3x4xi1>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2, %arg3) {causal = false, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0HTD]], #[[$AT_0HTE]], #[[$AT_00ST]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant 0.707106769 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<1x2x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<1x2x3x4xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x2x3x2xf32>, tensor<1x2x4x2xf32>) outs(%1 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_2: f32, %out: f32): %9 = arith.mulf %in, %in_2 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x4xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %out: f32): %9 = arith.mulf %in, %cst_0 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %4 = linalg.generic {indexing_maps = [#map10, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3, %3 : tensor<1x1x3x4xi1>, tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: i1, %in_2: f32, %out: f32): %9 = arith.select %in, %in_2, %cst : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %6 = tensor.empty() : tensor<1x2x3x5xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<1x2x3x5xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>) outs(%7 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_2: f32, %out: f32): %9 = arith.mulf %in, %in_2 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x5xf32>
  return %8 : tensor<1x2x3x5xf32>
}

// `masked_fill` with a large negative number, which stays that number.
// CHECK-LABEL: func.func @filled(
func.func @filled(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x2x4x2xf32>, %arg2: tensor<1x2x4x5xf32>, %arg3: tensor<1x1x1x4xi1>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}) {causal = false, fill = -1.000000e+09 : f32, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0HTD]], #[[$AT_0HTE]], #[[$AT_000T]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant -1.000000e+09 : f32
  %cst_0 = arith.constant 0.707106769 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<1x2x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<1x2x3x4xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x2x3x2xf32>, tensor<1x2x4x2xf32>) outs(%1 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_2: f32, %out: f32): %9 = arith.mulf %in, %in_2 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x4xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %out: f32): %9 = arith.mulf %in, %cst_0 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %4 = linalg.generic {indexing_maps = [#map12, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3, %3 : tensor<1x1x1x4xi1>, tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: i1, %in_2: f32, %out: f32): %9 = arith.select %in, %cst, %in_2 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %6 = tensor.empty() : tensor<1x2x3x5xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<1x2x3x5xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>) outs(%7 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_2: f32, %out: f32): %9 = arith.mulf %in, %in_2 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x5xf32>
  return %8 : tensor<1x2x3x5xf32>
}

// CHECK-LABEL: func.func @kept_and_added(
func.func @kept_and_added(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x2x4x2xf32>, %arg2: tensor<1x2x4x5xf32>, %arg3: tensor<3x4xi1>, %arg4: tensor<1x2x3x4xf32>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2, %arg3, %arg4) {causal = false, fill = -1.000000e+04 : f32, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0HTD]], #[[$AT_0HTE]], #[[$AT_ST]], #[[$AT_0HST]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, scale = 1.000000e+00 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant -1.000000e+04 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<1x2x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x4xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x2x3x2xf32>, tensor<1x2x4x2xf32>) outs(%1 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.mulf %in, %in_1 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x4xf32>
  %3 = linalg.generic {indexing_maps = [#map11, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3, %2 : tensor<3x4xi1>, tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: i1, %in_1: f32, %out: f32): %9 = arith.select %in, %in_1, %cst : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3, %arg4 : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.addf %in, %in_1 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %6 = tensor.empty() : tensor<1x2x3x5xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x5xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>) outs(%7 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.mulf %in, %in_1 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x5xf32>
  return %8 : tensor<1x2x3x5xf32>
}

// As `kept_and_added`, the other way round.
// CHECK-LABEL: func.func @added_and_filled(
func.func @added_and_filled(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x2x4x2xf32>, %arg2: tensor<1x2x4x5xf32>, %arg3: tensor<3x4xi1>, %arg4: tensor<1x2x3x4xf32>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2, %arg3, %arg4) {causal = false, fill = -1.000000e+04 : f32, fill_last, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0HTD]], #[[$AT_0HTE]], #[[$AT_ST]], #[[$AT_0HST]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, scale = 1.000000e+00 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant -1.000000e+04 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<1x2x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x4xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x2x3x2xf32>, tensor<1x2x4x2xf32>) outs(%1 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %3 = linalg.generic {indexing_maps = [#map11, #map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3, %2, %arg4 : tensor<3x4xi1>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: i1, %in_1: f32, %in_2: f32, %out: f32): %8 = arith.addf %in_1, %in_2 : f32 %9 = arith.select %in, %8, %cst : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %5 = tensor.empty() : tensor<1x2x3x5xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x5xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>) outs(%6 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x5xf32>
  return %7 : tensor<1x2x3x5xf32>
}

// The turned and scaled key is a result of its own, as in a model with a cache.
// CHECK-LABEL: func.func @key_returned(
func.func @key_returned(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x2x4x2xf32>, %arg2: tensor<1x2x4x5xf32>) -> (tensor<1x2x3x5xf32>, tensor<1x2x2x4xf32>) {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0HTD]], #[[$AT_0HTE]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0.707106769 : f32
  %0 = tensor.empty() : tensor<1x2x2x4xf32>
  %1 = linalg.generic {indexing_maps = [#map14, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<1x2x4x2xf32>) outs(%0 : tensor<1x2x2x4xf32>) { ^bb0(%in: f32, %out: f32): linalg.yield %in : f32 } -> tensor<1x2x2x4xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<1x2x2x4xf32>) outs(%0 : tensor<1x2x2x4xf32>) { ^bb0(%in: f32, %out: f32): %10 = arith.mulf %in, %cst_0 : f32 linalg.yield %10 : f32 } -> tensor<1x2x2x4xf32>
  %3 = tensor.empty() : tensor<1x2x3x4xf32>
  %4 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%3 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<1x2x3x4xf32>
  %5 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %2 : tensor<1x2x3x2xf32>, tensor<1x2x2x4xf32>) outs(%4 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %10 = arith.mulf %in, %in_1 : f32 %11 = arith.addf %out, %10 : f32 linalg.yield %11 : f32 } -> tensor<1x2x3x4xf32>
  %6 = "xyntra.softmax"(%5) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %7 = tensor.empty() : tensor<1x2x3x5xf32>
  %8 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%7 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<1x2x3x5xf32>
  %9 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%6, %arg2 : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>) outs(%8 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %10 = arith.mulf %in, %in_1 : f32 %11 = arith.addf %out, %10 : f32 linalg.yield %11 : f32 } -> tensor<1x2x3x5xf32>
  return %9, %2 : tensor<1x2x3x5xf32>, tensor<1x2x2x4xf32>
}

// A mask that keeps everything.
// CHECK-LABEL: func.func @kept_all(
func.func @kept_all(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x2x4x2xf32>, %arg2: tensor<1x2x4x5xf32>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0HTD]], #[[$AT_0HTE]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant 0.707106769 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %cst_2 = arith.constant dense<true> : tensor<1x1x3x4xi1>
  %0 = tensor.empty() : tensor<1x2x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<1x2x3x4xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x2x3x2xf32>, tensor<1x2x4x2xf32>) outs(%1 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %9 = arith.mulf %in, %in_3 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x4xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %out: f32): %9 = arith.mulf %in, %cst_0 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %4 = linalg.generic {indexing_maps = [#map10, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2, %3 : tensor<1x1x3x4xi1>, tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: i1, %in_3: f32, %out: f32): %9 = arith.select %in, %in_3, %cst : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %6 = tensor.empty() : tensor<1x2x3x5xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<1x2x3x5xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>) outs(%7 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %9 = arith.mulf %in, %in_3 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<1x2x3x5xf32>
  return %8 : tensor<1x2x3x5xf32>
}

// One tensor [B, S, 3 * H * D], split, and the result as [B, S, H * D].
// CHECK-LABEL: func.func @merged_heads(
func.func @merged_heads(%arg0: tensor<1x3x12xf32>) -> tensor<1x3x4xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg0, %arg0) {causal = false, indexing_maps = [#[[$AT_0SH2_D]], #[[$AT_0TH2_D_4]], #[[$AT_0TH2_E_8]], #[[$AT_0SH2_E]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 2, 3, 3, 2, 2>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %extracted_slice = tensor.extract_slice %arg0[0, 0, 0] [1, 3, 4] [1, 1, 1] : tensor<1x3x12xf32> to tensor<1x3x4xf32>
  %extracted_slice_1 = tensor.extract_slice %arg0[0, 0, 4] [1, 3, 4] [1, 1, 1] : tensor<1x3x12xf32> to tensor<1x3x4xf32>
  %extracted_slice_2 = tensor.extract_slice %arg0[0, 0, 8] [1, 3, 4] [1, 1, 1] : tensor<1x3x12xf32> to tensor<1x3x4xf32>
  %expanded = tensor.expand_shape %extracted_slice [[0], [1], [2, 3]] output_shape [1, 3, 2, 2] : tensor<1x3x4xf32> into tensor<1x3x2x2xf32>
  %0 = tensor.empty() : tensor<1x2x3x2xf32>
  %1 = linalg.generic {indexing_maps = [#map15, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<1x3x2x2xf32>) outs(%0 : tensor<1x2x3x2xf32>) { ^bb0(%in: f32, %out: f32): linalg.yield %in : f32 } -> tensor<1x2x3x2xf32>
  %expanded_3 = tensor.expand_shape %extracted_slice_1 [[0], [1], [2, 3]] output_shape [1, 3, 2, 2] : tensor<1x3x4xf32> into tensor<1x3x2x2xf32>
  %2 = linalg.generic {indexing_maps = [#map15, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_3 : tensor<1x3x2x2xf32>) outs(%0 : tensor<1x2x3x2xf32>) { ^bb0(%in: f32, %out: f32): linalg.yield %in : f32 } -> tensor<1x2x3x2xf32>
  %expanded_4 = tensor.expand_shape %extracted_slice_2 [[0], [1], [2, 3]] output_shape [1, 3, 2, 2] : tensor<1x3x4xf32> into tensor<1x3x2x2xf32>
  %3 = linalg.generic {indexing_maps = [#map15, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<1x3x2x2xf32>) outs(%0 : tensor<1x2x3x2xf32>) { ^bb0(%in: f32, %out: f32): linalg.yield %in : f32 } -> tensor<1x2x3x2xf32>
  %4 = tensor.empty() : tensor<1x2x3x3xf32>
  %5 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%4 : tensor<1x2x3x3xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x3xf32>
  %6 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1, %2 : tensor<1x2x3x2xf32>, tensor<1x2x3x2xf32>) outs(%5 : tensor<1x2x3x3xf32>) { ^bb0(%in: f32, %in_5: f32, %out: f32): %13 = arith.mulf %in, %in_5 : f32 %14 = arith.addf %out, %13 : f32 linalg.yield %14 : f32 } -> tensor<1x2x3x3xf32>
  %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6 : tensor<1x2x3x3xf32>) outs(%4 : tensor<1x2x3x3xf32>) { ^bb0(%in: f32, %out: f32): %13 = arith.mulf %in, %cst : f32 linalg.yield %13 : f32 } -> tensor<1x2x3x3xf32>
  %8 = "xyntra.softmax"(%7) {axis = 3 : i64} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %9 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<1x2x3x2xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x2xf32>
  %10 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%8, %3 : tensor<1x2x3x3xf32>, tensor<1x2x3x2xf32>) outs(%9 : tensor<1x2x3x2xf32>) { ^bb0(%in: f32, %in_5: f32, %out: f32): %13 = arith.mulf %in, %in_5 : f32 %14 = arith.addf %out, %13 : f32 linalg.yield %14 : f32 } -> tensor<1x2x3x2xf32>
  %11 = tensor.empty() : tensor<1x3x2x2xf32>
  %12 = linalg.generic {indexing_maps = [#map15, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10 : tensor<1x2x3x2xf32>) outs(%11 : tensor<1x3x2x2xf32>) { ^bb0(%in: f32, %out: f32): linalg.yield %in : f32 } -> tensor<1x3x2x2xf32>
  %collapsed = tensor.collapse_shape %12 [[0], [1], [2, 3]] : tensor<1x3x2x2xf32> into tensor<1x3x4xf32>
  return %collapsed : tensor<1x3x4xf32>
}

// Two dimensions; the key is transposed by the contraction.
// CHECK-LABEL: func.func @one_head(
func.func @one_head(%arg0: tensor<3x2xf32>, %arg1: tensor<4x2xf32>, %arg2: tensor<4x5xf32>) -> tensor<3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_SD]], #[[$AT_TD]], #[[$AT_TE]], #[[$AT_SE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 1, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4xf32>
  %1 = linalg.generic {indexing_maps = [#map16], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<3x4xf32>
  %2 = linalg.generic {indexing_maps = [#map17, #map18, #map19], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<3x2xf32>, tensor<4x2xf32>) outs(%1 : tensor<3x4xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<3x4xf32>
  %3 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<3x4xf32>) outs(%0 : tensor<3x4xf32>) { ^bb0(%in: f32, %out: f32): %8 = arith.mulf %in, %cst : f32 linalg.yield %8 : f32 } -> tensor<3x4xf32>
  %4 = "xyntra.softmax"(%3) {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %5 = tensor.empty() : tensor<3x5xf32>
  %6 = linalg.generic {indexing_maps = [#map16], iterator_types = ["parallel", "parallel"]} outs(%5 : tensor<3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<3x5xf32>
  %7 = linalg.generic {indexing_maps = [#map17, #map20, #map19], iterator_types = ["parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<3x4xf32>, tensor<4x5xf32>) outs(%6 : tensor<3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<3x5xf32>
  return %7 : tensor<3x5xf32>
}

// Two query heads for each key: unsqueeze, expand, reshape.
// CHECK-LABEL: func.func @repeated_keys(
func.func @repeated_keys(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x1x4x2xf32>, %arg2: tensor<1x1x4x5xf32>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_0HSD]], #[[$AT_00TD]], #[[$AT_00TE]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %expanded = tensor.expand_shape %arg1 [[0], [1], [2, 3], [4]] output_shape [1, 1, 1, 4, 2] : tensor<1x1x4x2xf32> into tensor<1x1x1x4x2xf32>
  %0 = tensor.empty() : tensor<1x1x2x4x2xf32>
  %1 = linalg.generic {indexing_maps = [#map21, #map22], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<1x1x1x4x2xf32>) outs(%0 : tensor<1x1x2x4x2xf32>) { ^bb0(%in: f32, %out: f32): linalg.yield %in : f32 } -> tensor<1x1x2x4x2xf32>
  %collapsed = tensor.collapse_shape %1 [[0], [1, 2], [3], [4]] : tensor<1x1x2x4x2xf32> into tensor<1x2x4x2xf32>
  %expanded_1 = tensor.expand_shape %arg2 [[0], [1], [2, 3], [4]] output_shape [1, 1, 1, 4, 5] : tensor<1x1x4x5xf32> into tensor<1x1x1x4x5xf32>
  %2 = tensor.empty() : tensor<1x1x2x4x5xf32>
  %3 = linalg.generic {indexing_maps = [#map21, #map22], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_1 : tensor<1x1x1x4x5xf32>) outs(%2 : tensor<1x1x2x4x5xf32>) { ^bb0(%in: f32, %out: f32): linalg.yield %in : f32 } -> tensor<1x1x2x4x5xf32>
  %collapsed_2 = tensor.collapse_shape %3 [[0], [1, 2], [3], [4]] : tensor<1x1x2x4x5xf32> into tensor<1x2x4x5xf32>
  %4 = tensor.empty() : tensor<1x2x3x4xf32>
  %5 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%4 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x4xf32>
  %6 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %collapsed : tensor<1x2x3x2xf32>, tensor<1x2x4x2xf32>) outs(%5 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %12 = arith.mulf %in, %in_3 : f32 %13 = arith.addf %out, %12 : f32 linalg.yield %13 : f32 } -> tensor<1x2x3x4xf32>
  %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6 : tensor<1x2x3x4xf32>) outs(%4 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %out: f32): %12 = arith.mulf %in, %cst : f32 linalg.yield %12 : f32 } -> tensor<1x2x3x4xf32>
  %8 = "xyntra.softmax"(%7) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %9 = tensor.empty() : tensor<1x2x3x5xf32>
  %10 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%9 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x5xf32>
  %11 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%8, %collapsed_2 : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>) outs(%10 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %12 = arith.mulf %in, %in_3 : f32 %13 = arith.addf %out, %12 : f32 linalg.yield %13 : f32 } -> tensor<1x2x3x5xf32>
  return %11 : tensor<1x2x3x5xf32>
}

// Two query heads for each key, in a dimension of their own.
// CHECK-LABEL: func.func @grouped_queries(
func.func @grouped_queries(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x1x4x2xf32>, %arg2: tensor<1x1x4x5xf32>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_0HSD]], #[[$AT_00TD]], #[[$AT_00TE]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %expanded = tensor.expand_shape %arg0 [[0], [1, 2], [3], [4]] output_shape [1, 1, 2, 3, 2] : tensor<1x2x3x2xf32> into tensor<1x1x2x3x2xf32>
  %0 = tensor.empty() : tensor<1x1x2x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#map22], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<1x1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x1x2x3x4xf32>
  %2 = linalg.generic {indexing_maps = [#map23, #map24, #map25], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded, %arg1 : tensor<1x1x2x3x2xf32>, tensor<1x1x4x2xf32>) outs(%1 : tensor<1x1x2x3x4xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<1x1x2x3x4xf32>
  %3 = linalg.generic {indexing_maps = [#map22, #map22], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<1x1x2x3x4xf32>) outs(%0 : tensor<1x1x2x3x4xf32>) { ^bb0(%in: f32, %out: f32): %8 = arith.mulf %in, %cst : f32 linalg.yield %8 : f32 } -> tensor<1x1x2x3x4xf32>
  %4 = "xyntra.softmax"(%3) {axis = 4 : i64} : (tensor<1x1x2x3x4xf32>) -> tensor<1x1x2x3x4xf32>
  %5 = tensor.empty() : tensor<1x1x2x3x5xf32>
  %6 = linalg.generic {indexing_maps = [#map22], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<1x1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x1x2x3x5xf32>
  %7 = linalg.generic {indexing_maps = [#map23, #map26, #map25], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<1x1x2x3x4xf32>, tensor<1x1x4x5xf32>) outs(%6 : tensor<1x1x2x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<1x1x2x3x5xf32>
  %collapsed = tensor.collapse_shape %7 [[0], [1, 2], [3], [4]] : tensor<1x1x2x3x5xf32> into tensor<1x2x3x5xf32>
  return %collapsed : tensor<1x2x3x5xf32>
}

// Multi-query attention: keys and values without heads.
// CHECK-LABEL: func.func @one_key_for_all(
func.func @one_key_for_all(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x4x2xf32>, %arg2: tensor<1x4x5xf32>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0TD]], #[[$AT_0TE]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<1x2x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x4xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map27, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x2x3x2xf32>, tensor<1x4x2xf32>) outs(%1 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x4xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<1x2x3x4xf32>) outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %out: f32): %8 = arith.mulf %in, %cst : f32 linalg.yield %8 : f32 } -> tensor<1x2x3x4xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %5 = tensor.empty() : tensor<1x2x3x5xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x5xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map28, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<1x2x3x4xf32>, tensor<1x4x5xf32>) outs(%6 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<1x2x3x5xf32>
  return %7 : tensor<1x2x3x5xf32>
}

// Rotary embedding of queries in front, which stays there.
// CHECK-LABEL: func.func @rotated(
func.func @rotated(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x2x4x2xf32>, %arg2: tensor<1x2x4x5xf32>, %arg3: tensor<3x2xf32>, %arg4: tensor<3x2xf32>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}) {causal = false, indexing_maps = [#[[$AT_0HSD]], #[[$AT_0HTD]], #[[$AT_0HTE]], #[[$AT_0HSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 2, 3, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %extracted_slice = tensor.extract_slice %arg0[0, 0, 0, 0] [1, 2, 3, 1] [1, 1, 1, 1] : tensor<1x2x3x2xf32> to tensor<1x2x3x1xf32>
  %extracted_slice_1 = tensor.extract_slice %arg0[0, 0, 0, 1] [1, 2, 3, 1] [1, 1, 1, 1] : tensor<1x2x3x2xf32> to tensor<1x2x3x1xf32>
  %padded = tensor.pad %extracted_slice low[0, 0, 0, 1] high[0, 0, 0, 0] {
  ^bb0(%arg5: index, %arg6: index, %arg7: index, %arg8: index):
    tensor.yield %cst_0 : f32
  } : tensor<1x2x3x1xf32> to tensor<1x2x3x2xf32>
  %padded_2 = tensor.pad %extracted_slice_1 low[0, 0, 0, 0] high[0, 0, 0, 1] {
  ^bb0(%arg5: index, %arg6: index, %arg7: index, %arg8: index):
    tensor.yield %cst_0 : f32
  } : tensor<1x2x3x1xf32> to tensor<1x2x3x2xf32>
  %0 = tensor.empty() : tensor<1x2x3x2xf32>
  %1 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%padded, %padded_2 : tensor<1x2x3x2xf32>, tensor<1x2x3x2xf32>) outs(%0 : tensor<1x2x3x2xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %11 = arith.subf %in, %in_3 : f32 linalg.yield %11 : f32 } -> tensor<1x2x3x2xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map, #map11, #map11, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %1, %arg3, %arg4 : tensor<1x2x3x2xf32>, tensor<1x2x3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) outs(%0 : tensor<1x2x3x2xf32>) { ^bb0(%in: f32, %in_3: f32, %in_4: f32, %in_5: f32, %out: f32): %11 = arith.mulf %in, %in_4 : f32 %12 = arith.mulf %in_3, %in_5 : f32 %13 = arith.addf %11, %12 : f32 linalg.yield %13 : f32 } -> tensor<1x2x3x2xf32>
  %3 = tensor.empty() : tensor<1x2x3x4xf32>
  %4 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%3 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x4xf32>
  %5 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%2, %arg1 : tensor<1x2x3x2xf32>, tensor<1x2x4x2xf32>) outs(%4 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %11 = arith.mulf %in, %in_3 : f32 %12 = arith.addf %out, %11 : f32 linalg.yield %12 : f32 } -> tensor<1x2x3x4xf32>
  %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5 : tensor<1x2x3x4xf32>) outs(%3 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %out: f32): %11 = arith.mulf %in, %cst : f32 linalg.yield %11 : f32 } -> tensor<1x2x3x4xf32>
  %7 = "xyntra.softmax"(%6) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %8 = tensor.empty() : tensor<1x2x3x5xf32>
  %9 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%8 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<1x2x3x5xf32>
  %10 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%7, %arg2 : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>) outs(%9 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %11 = arith.mulf %in, %in_3 : f32 %12 = arith.addf %out, %11 : f32 linalg.yield %12 : f32 } -> tensor<1x2x3x5xf32>
  return %10 : tensor<1x2x3x5xf32>
}

// Every query has keys of its own: as many heads of one query each.
// CHECK-LABEL: func.func @keys_of_each_query(
func.func @keys_of_each_query(%arg0: tensor<1x2x3x2xf32>, %arg1: tensor<1x3x4x2xf32>, %arg2: tensor<1x2x4x5xf32>) -> tensor<1x2x3x5xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_0BHD]], #[[$AT_0HTD]], #[[$AT_0BTE]], #[[$AT_0BHE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 1.000000e+00 : f32, sizes = array<i64: 2, 3, 1, 4, 2, 5>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<1x2x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<1x2x3x4xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<1x2x3x4xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map29, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<1x2x3x2xf32>, tensor<1x3x4x2xf32>) outs(%1 : tensor<1x2x3x4xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %7 = arith.mulf %in, %in_0 : f32 %8 = arith.addf %out, %7 : f32 linalg.yield %8 : f32 } -> tensor<1x2x3x4xf32>
  %3 = "xyntra.softmax"(%2) {axis = 3 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %4 = tensor.empty() : tensor<1x2x3x5xf32>
  %5 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%4 : tensor<1x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<1x2x3x5xf32>
  %6 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%3, %arg2 : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>) outs(%5 : tensor<1x2x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %7 = arith.mulf %in, %in_0 : f32 %8 = arith.addf %out, %7 : f32 linalg.yield %8 : f32 } -> tensor<1x2x3x5xf32>
  return %6 : tensor<1x2x3x5xf32>
}
