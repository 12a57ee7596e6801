// RUN: %xyntra-opt %s --recognize-attention --canonicalize --cse | FileCheck %s

// Extents: 2 batches, 4 heads, 3 queries, 5 keys of size 2, values of size 7.

// CHECK-DAG: #[[$AT_BHSD:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4)>
// CHECK-DAG: #[[$AT_BHTD:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d3, d4)>
// CHECK-DAG: #[[$AT_BHTE:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d3, d5)>
// CHECK-DAG: #[[$AT_BHSE:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>
// CHECK-DAG: #[[$AT_H_BY_4H_MOD_4SD:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1 floordiv 4, d1 mod 4, d2, d4)>
// CHECK-DAG: #[[$AT_H_BY_4H_MOD_4TD:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1 floordiv 4, d1 mod 4, d3, d4)>
// CHECK-DAG: #[[$AT_H_BY_4H_MOD_4TE:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1 floordiv 4, d1 mod 4, d3, d5)>
// CHECK-DAG: #[[$AT_H_BY_4H_MOD_4SE:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1 floordiv 4, d1 mod 4, d2, d5)>
// CHECK-DAG: #[[$AT_B00T:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, 0, 0, d3)>
// CHECK-DAG: #[[$AT_HST:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d3)>
// CHECK-DAG: #[[$AT_00ST:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (0, 0, d2, d3)>
// CHECK-DAG: #[[$AT_ST:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d3)>
// CHECK-DAG: #[[$AT_BHST:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[$AT_BSH2_D:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1 * 2 + d4)>
// CHECK-DAG: #[[$AT_BTH2_D_8:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1 * 2 + d4 + 8)>
// CHECK-DAG: #[[$AT_BTH2_E_16:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1 * 2 + d5 + 16)>
// CHECK-DAG: #[[$AT_BSH2_E:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1 * 2 + d5)>
// CHECK-DAG: #[[$AT_SD:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d4)>
// CHECK-DAG: #[[$AT_TD:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d4)>
// CHECK-DAG: #[[$AT_TE:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d5)>
// CHECK-DAG: #[[$AT_SE:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d5)>
// CHECK-DAG: #[[$AT_BH_BY_2TD:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 floordiv 2, d3, d4)>
// CHECK-DAG: #[[$AT_BH_BY_2TE:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 floordiv 2, d3, d5)>
// CHECK-DAG: #[[$AT_BTD:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4)>
// CHECK-DAG: #[[$AT_BTE:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d5)>
// CHECK-DAG: #[[$AT_BH_BY_3H_MOD_3D:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 floordiv 3, d1 mod 3, d4)>
// CHECK-DAG: #[[$AT_BH_MOD_3TD:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 mod 3, d3, d4)>
// CHECK-DAG: #[[$AT_BH_BY_3TE:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 floordiv 3, d3, d5)>
// CHECK-DAG: #[[$AT_BH_BY_3H_MOD_3E:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 floordiv 3, d1 mod 3, d5)>

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
#map10 = affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>
#map11 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map12 = affine_map<(d0, d1, d2, d3) -> (d0, 0, 0, d3)>
#map13 = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>
#map14 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>
#map15 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map16 = affine_map<(d0, d1, d2, d3, d4) -> (d1, 0, d3, d4)>
#map17 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
#map18 = affine_map<(d0, d1) -> (d0, d1)>
#map19 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map20 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map21 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map22 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map23 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, 0, d3, d4)>
#map24 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d5)>
#map25 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5)>
#map26 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
#map27 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d5, d4)>
#map28 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>
#map29 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>
#map30 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3, d4)>

// CHECK-LABEL: func.func @scale_after(
func.func @scale_after(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
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
  return %7 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @capped(
func.func @capped(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 1.500000e+00 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>, softcap = 5.000000e+01 : f32}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 3.000000e-02 : f32
  %cap = arith.constant 5.000000e+01 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %8 = arith.mulf %in, %cst : f32 %9 = math.tanh %8 : f32 %10 = arith.mulf %9, %cap : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @divided_after(
func.func @divided_after(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 1.41421354 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %8 = arith.divf %in, %cst : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @scale_on_query(
func.func @scale_on_query(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0.707106769 : f32
  %0 = tensor.empty() : tensor<2x4x3x2xf32>
  %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x4x3x2xf32>) outs(%0 : tensor<2x4x3x2xf32>) { ^bb0(%in: f32, %out: f32): %9 = arith.mulf %in, %cst_0 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x2xf32>
  %2 = tensor.empty() : tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%2 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x5xf32>
  %4 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%3 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.mulf %in, %in_1 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x5xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %6 = tensor.empty() : tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x7xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%7 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.mulf %in, %in_1 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x7xf32>
  return %8 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @scale_on_key(
func.func @scale_on_key(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0.707106769 : f32
  %0 = tensor.empty() : tensor<2x4x5x2xf32>
  %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x5x2xf32>) outs(%0 : tensor<2x4x5x2xf32>) { ^bb0(%in: f32, %out: f32): %9 = arith.mulf %in, %cst_0 : f32 linalg.yield %9 : f32 } -> tensor<2x4x5x2xf32>
  %2 = tensor.empty() : tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%2 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x5xf32>
  %4 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%3 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.mulf %in, %in_1 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x5xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %6 = tensor.empty() : tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x7xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%7 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.mulf %in, %in_1 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x7xf32>
  return %8 : tensor<2x4x3x7xf32>
}

// As torch exports scaled_dot_product_attention: key transposed, NaN replaced by 0.
// CHECK-LABEL: func.func @scale_on_both(
func.func @scale_on_both(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "zero", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.707106829 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0.840896427 : f32
  %collapsed = tensor.collapse_shape %arg1 [[0, 1], [2], [3]] : tensor<2x4x5x2xf32> into tensor<8x5x2xf32>
  %0 = tensor.empty() : tensor<8x2x5xf32>
  %1 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed : tensor<8x5x2xf32>) outs(%0 : tensor<8x2x5xf32>) { ^bb0(%in: f32, %out: f32): linalg.yield %in : f32 } -> tensor<8x2x5xf32>
  %expanded = tensor.expand_shape %1 [[0, 1], [2], [3]] output_shape [2, 4, 2, 5] : tensor<8x2x5xf32> into tensor<2x4x2x5xf32>
  %2 = tensor.empty() : tensor<2x4x2x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x2x5xf32>) outs(%2 : tensor<2x4x2x5xf32>) { ^bb0(%in: f32, %out: f32): %16 = arith.mulf %in, %cst_0 : f32 linalg.yield %16 : f32 } -> tensor<2x4x2x5xf32>
  %4 = tensor.empty() : tensor<2x4x3x2xf32>
  %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x4x3x2xf32>) outs(%4 : tensor<2x4x3x2xf32>) { ^bb0(%in: f32, %out: f32): %16 = arith.mulf %in, %cst_0 : f32 linalg.yield %16 : f32 } -> tensor<2x4x3x2xf32>
  %6 = tensor.empty() : tensor<2x4x3x5xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x5xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %3 : tensor<2x4x3x2xf32>, tensor<2x4x2x5xf32>) outs(%7 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %16 = arith.mulf %in, %in_1 : f32 %17 = arith.addf %out, %16 : f32 linalg.yield %17 : f32 } -> tensor<2x4x3x5xf32>
  %9 = "xyntra.softmax"(%8) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %10 = tensor.empty() : tensor<2x4x3x5xi1>
  %11 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<2x4x3x5xf32>) outs(%10 : tensor<2x4x3x5xi1>) { ^bb0(%in: f32, %out: i1): %16 = arith.cmpf une, %in, %in : f32 linalg.yield %16 : i1 } -> tensor<2x4x3x5xi1>
  %12 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11, %9 : tensor<2x4x3x5xi1>, tensor<2x4x3x5xf32>) outs(%6 : tensor<2x4x3x5xf32>) { ^bb0(%in: i1, %in_1: f32, %out: f32): %16 = arith.select %in, %cst, %in_1 : f32 linalg.yield %16 : f32 } -> tensor<2x4x3x5xf32>
  %13 = tensor.empty() : tensor<2x4x3x7xf32>
  %14 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%13 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x7xf32>
  %15 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%12, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%14 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %16 = arith.mulf %in, %in_1 : f32 %17 = arith.addf %out, %16 : f32 linalg.yield %17 : f32 } -> tensor<2x4x3x7xf32>
  return %15 : tensor<2x4x3x7xf32>
}

// Batch and heads in one dimension, as torch.bmm wants it, the key transposed.
// CHECK-LABEL: func.func @batches_of_heads(
func.func @batches_of_heads(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_H_BY_4H_MOD_4SD]], #[[$AT_H_BY_4H_MOD_4TD]], #[[$AT_H_BY_4H_MOD_4TE]], #[[$AT_H_BY_4H_MOD_4SE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 8, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x3x2xf32> into tensor<8x3x2xf32>
  %collapsed_1 = tensor.collapse_shape %arg1 [[0, 1], [2], [3]] : tensor<2x4x5x2xf32> into tensor<8x5x2xf32>
  %collapsed_2 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x5x7xf32> into tensor<8x5x7xf32>
  %0 = tensor.empty() : tensor<8x2x5xf32>
  %1 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_1 : tensor<8x5x2xf32>) outs(%0 : tensor<8x2x5xf32>) { ^bb0(%in: f32, %out: f32): linalg.yield %in : f32 } -> tensor<8x2x5xf32>
  %2 = tensor.empty() : tensor<8x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map6], iterator_types = ["parallel", "parallel", "parallel"]} outs(%2 : tensor<8x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<8x3x5xf32>
  %4 = linalg.generic {indexing_maps = [#map7, #map8, #map9], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%collapsed, %1 : tensor<8x3x2xf32>, tensor<8x2x5xf32>) outs(%3 : tensor<8x3x5xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %10 = arith.mulf %in, %in_3 : f32 %11 = arith.addf %out, %10 : f32 linalg.yield %11 : f32 } -> tensor<8x3x5xf32>
  %5 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4 : tensor<8x3x5xf32>) outs(%2 : tensor<8x3x5xf32>) { ^bb0(%in: f32, %out: f32): %10 = arith.mulf %in, %cst : f32 linalg.yield %10 : f32 } -> tensor<8x3x5xf32>
  %6 = "xyntra.softmax"(%5) {axis = 2 : i64} : (tensor<8x3x5xf32>) -> tensor<8x3x5xf32>
  %7 = tensor.empty() : tensor<8x3x7xf32>
  %8 = linalg.generic {indexing_maps = [#map6], iterator_types = ["parallel", "parallel", "parallel"]} outs(%7 : tensor<8x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<8x3x7xf32>
  %9 = linalg.generic {indexing_maps = [#map7, #map8, #map9], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%6, %collapsed_2 : tensor<8x3x5xf32>, tensor<8x5x7xf32>) outs(%8 : tensor<8x3x7xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %10 = arith.mulf %in, %in_3 : f32 %11 = arith.addf %out, %10 : f32 linalg.yield %11 : f32 } -> tensor<8x3x7xf32>
  %expanded = tensor.expand_shape %9 [[0, 1], [2], [3]] output_shape [2, 4, 3, 7] : tensor<8x3x7xf32> into tensor<2x4x3x7xf32>
  return %expanded : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @causal_by_index(
func.func @causal_by_index(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = true, causal_offset = 1 : i64, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0xFF800000 : f32
  %c1_i64 = arith.constant 1 : i64
  %cst_0 = arith.constant 0.707106769 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_2: f32, %out: f32): %9 = arith.mulf %in, %in_2 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %9 = arith.mulf %in, %cst_0 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %9 = linalg.index 3 : index %10 = arith.index_cast %9 : index to i64 %11 = linalg.index 2 : index %12 = arith.index_cast %11 : index to i64 %13 = arith.addi %12, %c1_i64 : i64 %14 = arith.cmpi sle, %10, %13 : i64 %15 = arith.select %14, %in, %cst : f32 linalg.yield %15 : f32 } -> tensor<2x4x3x5xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %6 = tensor.empty() : tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<2x4x3x7xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%7 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_2: f32, %out: f32): %9 = arith.mulf %in, %in_2 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x7xf32>
  return %8 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @causal_by_constant(
func.func @causal_by_constant(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = true, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant 0.707106769 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %cst_2 = arith.constant dense<[[[[true, false, false, false, false], [true, true, false, false, false], [true, true, true, false, false]]]]> : tensor<1x1x3x5xi1>
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %9 = arith.mulf %in, %in_3 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %9 = arith.mulf %in, %cst_0 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %4 = linalg.generic {indexing_maps = [#map10, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2, %3 : tensor<1x1x3x5xi1>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: i1, %in_3: f32, %out: f32): %9 = arith.select %in, %in_3, %cst : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %6 = tensor.empty() : tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<2x4x3x7xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%7 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %9 = arith.mulf %in, %in_3 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x7xf32>
  return %8 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @causal_by_opposite(
func.func @causal_by_opposite(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = true, fill = -1.000000e+09 : f32, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant -1.000000e+09 : f32
  %cst_0 = arith.constant 0.707106769 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %cst_2 = arith.constant dense<[[false, true, true, true, true], [false, false, true, true, true], [false, false, false, true, true]]> : tensor<3x5xi1>
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %9 = arith.mulf %in, %in_3 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %9 = arith.mulf %in, %cst_0 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %4 = linalg.generic {indexing_maps = [#map11, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2, %3 : tensor<3x5xi1>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: i1, %in_3: f32, %out: f32): %9 = arith.select %in, %cst, %in_3 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %6 = tensor.empty() : tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<2x4x3x7xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%7 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %9 = arith.mulf %in, %in_3 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x7xf32>
  return %8 : tensor<2x4x3x7xf32>
}

// f16 operands, products and softmax in f32.
// CHECK-LABEL: func.func @half_precision(
func.func @half_precision(%arg0: tensor<2x4x3x2xf16>, %arg1: tensor<2x4x5x2xf16>, %arg2: tensor<2x4x5x7xf16>) -> tensor<2x4x3x7xf16> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf16>, tensor<2x4x5x2xf16>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f16, %in_1: f16, %out: f32): %12 = arith.extf %in : f16 to f32 %13 = arith.extf %in_1 : f16 to f32 %14 = arith.mulf %12, %13 : f32 %15 = arith.addf %out, %14 : f32 linalg.yield %15 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %12 = arith.mulf %in, %cst : f32 linalg.yield %12 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x5xf16>
  %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%4 : tensor<2x4x3x5xf32>) outs(%5 : tensor<2x4x3x5xf16>) { ^bb0(%in: f32, %out: f16): %12 = arith.truncf %in : f32 to f16 linalg.yield %12 : f16 } -> tensor<2x4x3x5xf16>
  %7 = tensor.empty() : tensor<2x4x3x7xf32>
  %8 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%7 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %9 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%6, %arg2 : tensor<2x4x3x5xf16>, tensor<2x4x5x7xf16>) outs(%8 : tensor<2x4x3x7xf32>) { ^bb0(%in: f16, %in_1: f16, %out: f32): %12 = arith.extf %in : f16 to f32 %13 = arith.extf %in_1 : f16 to f32 %14 = arith.mulf %12, %13 : f32 %15 = arith.addf %out, %14 : f32 linalg.yield %15 : f32 } -> tensor<2x4x3x7xf32>
  %10 = tensor.empty() : tensor<2x4x3x7xf16>
  %11 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<2x4x3x7xf32>) outs(%10 : tensor<2x4x3x7xf16>) { ^bb0(%in: f32, %out: f16): %12 = arith.truncf %in : f32 to f16 linalg.yield %12 : f16 } -> tensor<2x4x3x7xf16>
  return %11 : tensor<2x4x3x7xf16>
}

// CHECK-LABEL: func.func @added_mask(
func.func @added_mask(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<2x1x1x5xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2, %arg3) {causal = false, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_B00T]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>, scale = 0.707106769 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.mulf %in, %in_1 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %9 = arith.mulf %in, %cst : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map12, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3, %arg3 : tensor<2x4x3x5xf32>, tensor<2x1x1x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.addf %in, %in_1 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %6 = tensor.empty() : tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%7 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.mulf %in, %in_1 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x7xf32>
  return %8 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @mask_plus_scores(
func.func @mask_plus_scores(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<4x3x5xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2, %arg3) {causal = false, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_HST]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>, scale = 1.000000e+00 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %8 = arith.mulf %in, %in_0 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map13, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3, %2 : tensor<4x3x5xf32>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %8 = arith.addf %in, %in_0 : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %8 = arith.mulf %in, %in_0 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @bias_subtracted(
func.func @bias_subtracted(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<4x3x5xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: %[[BIAS:.*]] = linalg.generic
  // CHECK: arith.mulf %in, %{{.*}} : f32
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2, %[[BIAS]]) {causal = false, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_HST]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>, scale = 1.000000e+00 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %8 = arith.mulf %in, %in_0 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map13, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3, %2 : tensor<4x3x5xf32>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %8 = arith.subf %in_0, %in : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %8 = arith.mulf %in, %in_0 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @kept(
func.func @kept(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<1x1x3x5xi1>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2, %arg3) {causal = false, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_00ST]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant 0.707106769 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_2: f32, %out: f32): %9 = arith.mulf %in, %in_2 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %9 = arith.mulf %in, %cst_0 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %4 = linalg.generic {indexing_maps = [#map10, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3, %3 : tensor<1x1x3x5xi1>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: i1, %in_2: f32, %out: f32): %9 = arith.select %in, %in_2, %cst : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %6 = tensor.empty() : tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<2x4x3x7xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%7 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_2: f32, %out: f32): %9 = arith.mulf %in, %in_2 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x7xf32>
  return %8 : tensor<2x4x3x7xf32>
}

// The mask is scaled with the scores, and so becomes a bias of its own.
// CHECK-LABEL: func.func @scale_after_mask(
func.func @scale_after_mask(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<3x5xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK: %[[BIAS:.+]] = linalg.generic {{.*}} ins(%arg3 : tensor<3x5xf32>)
  // CHECK: arith.mulf %{{.+}}, %{{.+}} : f32
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2, %[[BIAS]])
  // CHECK-SAME: scale = 0.707106769 : f32
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map11, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %arg3 : tensor<2x4x3x5xf32>, tensor<3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.addf %in, %in_1 : f32 %9 = arith.mulf %8, %cst : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// `masked_fill` with a large negative number, which stays that number.
// CHECK-LABEL: func.func @filled(
func.func @filled(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<2x1x1x5xi1>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}) {causal = false, fill = -1.000000e+09 : f32, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_B00T]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant -1.000000e+09 : f32
  %cst_0 = arith.constant 0.707106769 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_2: f32, %out: f32): %9 = arith.mulf %in, %in_2 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %9 = arith.mulf %in, %cst_0 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %4 = linalg.generic {indexing_maps = [#map12, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3, %3 : tensor<2x1x1x5xi1>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: i1, %in_2: f32, %out: f32): %9 = arith.select %in, %cst, %in_2 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %6 = tensor.empty() : tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<2x4x3x7xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%7 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_2: f32, %out: f32): %9 = arith.mulf %in, %in_2 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x7xf32>
  return %8 : tensor<2x4x3x7xf32>
}

// CHECK-LABEL: func.func @kept_and_added(
func.func @kept_and_added(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<3x5xi1>, %arg4: tensor<2x4x3x5xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2, %arg3, %arg4) {causal = false, fill = -1.000000e+04 : f32, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_ST]], #[[$AT_BHST]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, scale = 1.000000e+00 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant -1.000000e+04 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.mulf %in, %in_1 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map11, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3, %2 : tensor<3x5xi1>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: i1, %in_1: f32, %out: f32): %9 = arith.select %in, %in_1, %cst : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3, %arg4 : tensor<2x4x3x5xf32>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.addf %in, %in_1 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %6 = tensor.empty() : tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%7 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %9 = arith.mulf %in, %in_1 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x7xf32>
  return %8 : tensor<2x4x3x7xf32>
}

// As `kept_and_added`, the other way round.
// CHECK-LABEL: func.func @added_and_filled(
func.func @added_and_filled(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<3x5xi1>, %arg4: tensor<2x4x3x5xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2, %arg3, %arg4) {causal = false, fill = -1.000000e+04 : f32, fill_last, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_ST]], #[[$AT_BHST]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, scale = 1.000000e+00 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant -1.000000e+04 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map11, #map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3, %2, %arg4 : tensor<3x5xi1>, tensor<2x4x3x5xf32>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: i1, %in_1: f32, %in_2: f32, %out: f32): %8 = arith.addf %in_1, %in_2 : f32 %9 = arith.select %in, %8, %cst : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// The turned and scaled key is a result of its own, as in a model with a cache.
// CHECK-LABEL: func.func @key_returned(
func.func @key_returned(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> (tensor<2x4x3x7xf32>, tensor<2x4x2x5xf32>) {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0.707106769 : f32
  %0 = tensor.empty() : tensor<2x4x2x5xf32>
  %1 = linalg.generic {indexing_maps = [#map14, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x5x2xf32>) outs(%0 : tensor<2x4x2x5xf32>) { ^bb0(%in: f32, %out: f32): linalg.yield %in : f32 } -> tensor<2x4x2x5xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<2x4x2x5xf32>) outs(%0 : tensor<2x4x2x5xf32>) { ^bb0(%in: f32, %out: f32): %10 = arith.mulf %in, %cst_0 : f32 linalg.yield %10 : f32 } -> tensor<2x4x2x5xf32>
  %3 = tensor.empty() : tensor<2x4x3x5xf32>
  %4 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%3 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x5xf32>
  %5 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %2 : tensor<2x4x3x2xf32>, tensor<2x4x2x5xf32>) outs(%4 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %10 = arith.mulf %in, %in_1 : f32 %11 = arith.addf %out, %10 : f32 linalg.yield %11 : f32 } -> tensor<2x4x3x5xf32>
  %6 = "xyntra.softmax"(%5) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %7 = tensor.empty() : tensor<2x4x3x7xf32>
  %8 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%7 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x7xf32>
  %9 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%6, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%8 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %10 = arith.mulf %in, %in_1 : f32 %11 = arith.addf %out, %10 : f32 linalg.yield %11 : f32 } -> tensor<2x4x3x7xf32>
  return %9, %2 : tensor<2x4x3x7xf32>, tensor<2x4x2x5xf32>
}

// A bias for each head and a mask for each of two windows, which are part of the batch.
// CHECK-LABEL: func.func @windows(
func.func @windows(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<4x3x5xf32>, %arg4: tensor<2x1x3x5xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}) {causal = false, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_BHST]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>, scale = 0.707106769 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %11 = arith.mulf %in, %in_1 : f32 %12 = arith.addf %out, %11 : f32 linalg.yield %12 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %11 = arith.mulf %in, %cst : f32 linalg.yield %11 : f32 } -> tensor<2x4x3x5xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map13, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3, %arg3 : tensor<2x4x3x5xf32>, tensor<4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %11 = arith.addf %in, %in_1 : f32 linalg.yield %11 : f32 } -> tensor<2x4x3x5xf32>
  %expanded = tensor.expand_shape %4 [[0, 1], [2], [3], [4]] output_shape [1, 2, 4, 3, 5] : tensor<2x4x3x5xf32> into tensor<1x2x4x3x5xf32>
  %5 = tensor.empty() : tensor<1x2x4x3x5xf32>
  %6 = linalg.generic {indexing_maps = [#map15, #map16, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %arg4 : tensor<1x2x4x3x5xf32>, tensor<2x1x3x5xf32>) outs(%5 : tensor<1x2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %11 = arith.addf %in, %in_1 : f32 linalg.yield %11 : f32 } -> tensor<1x2x4x3x5xf32>
  %collapsed = tensor.collapse_shape %6 [[0, 1], [2], [3], [4]] : tensor<1x2x4x3x5xf32> into tensor<2x4x3x5xf32>
  %7 = "xyntra.softmax"(%collapsed) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %8 = tensor.empty() : tensor<2x4x3x7xf32>
  %9 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%8 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %10 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%7, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%9 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %11 = arith.mulf %in, %in_1 : f32 %12 = arith.addf %out, %11 : f32 linalg.yield %12 : f32 } -> tensor<2x4x3x7xf32>
  return %10 : tensor<2x4x3x7xf32>
}

// A mask that keeps everything.
// CHECK-LABEL: func.func @kept_all(
func.func @kept_all(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant 0.707106769 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %cst_2 = arith.constant dense<true> : tensor<1x1x3x5xi1>
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %9 = arith.mulf %in, %in_3 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %9 = arith.mulf %in, %cst_0 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %4 = linalg.generic {indexing_maps = [#map10, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2, %3 : tensor<1x1x3x5xi1>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: i1, %in_3: f32, %out: f32): %9 = arith.select %in, %in_3, %cst : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %5 = "xyntra.softmax"(%4) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %6 = tensor.empty() : tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_1 : f32 } -> tensor<2x4x3x7xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%5, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%7 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %9 = arith.mulf %in, %in_3 : f32 %10 = arith.addf %out, %9 : f32 linalg.yield %10 : f32 } -> tensor<2x4x3x7xf32>
  return %8 : tensor<2x4x3x7xf32>
}

// One tensor [B, S, 3 * H * D], split, and the result as [B, S, H * D].
// CHECK-LABEL: func.func @merged_heads(
func.func @merged_heads(%arg0: tensor<2x3x24xf32>) -> tensor<2x3x8xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg0, %arg0) {causal = false, indexing_maps = [#[[$AT_BSH2_D]], #[[$AT_BTH2_D_8]], #[[$AT_BTH2_E_16]], #[[$AT_BSH2_E]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 2, 4, 3, 3, 2, 2>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %extracted_slice = tensor.extract_slice %arg0[0, 0, 0] [2, 3, 8] [1, 1, 1] : tensor<2x3x24xf32> to tensor<2x3x8xf32>
  %extracted_slice_1 = tensor.extract_slice %arg0[0, 0, 8] [2, 3, 8] [1, 1, 1] : tensor<2x3x24xf32> to tensor<2x3x8xf32>
  %extracted_slice_2 = tensor.extract_slice %arg0[0, 0, 16] [2, 3, 8] [1, 1, 1] : tensor<2x3x24xf32> to tensor<2x3x8xf32>
  %expanded = tensor.expand_shape %extracted_slice [[0], [1], [2, 3]] output_shape [2, 3, 4, 2] : tensor<2x3x8xf32> into tensor<2x3x4x2xf32>
  %0 = tensor.empty() : tensor<2x4x3x2xf32>
  %1 = linalg.generic {indexing_maps = [#map17, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x3x4x2xf32>) outs(%0 : tensor<2x4x3x2xf32>) { ^bb0(%in: f32, %out: f32): linalg.yield %in : f32 } -> tensor<2x4x3x2xf32>
  %expanded_3 = tensor.expand_shape %extracted_slice_1 [[0], [1], [2, 3]] output_shape [2, 3, 4, 2] : tensor<2x3x8xf32> into tensor<2x3x4x2xf32>
  %2 = linalg.generic {indexing_maps = [#map17, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_3 : tensor<2x3x4x2xf32>) outs(%0 : tensor<2x4x3x2xf32>) { ^bb0(%in: f32, %out: f32): linalg.yield %in : f32 } -> tensor<2x4x3x2xf32>
  %expanded_4 = tensor.expand_shape %extracted_slice_2 [[0], [1], [2, 3]] output_shape [2, 3, 4, 2] : tensor<2x3x8xf32> into tensor<2x3x4x2xf32>
  %3 = linalg.generic {indexing_maps = [#map17, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<2x3x4x2xf32>) outs(%0 : tensor<2x4x3x2xf32>) { ^bb0(%in: f32, %out: f32): linalg.yield %in : f32 } -> tensor<2x4x3x2xf32>
  %4 = tensor.empty() : tensor<2x4x3x3xf32>
  %5 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%4 : tensor<2x4x3x3xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x3xf32>
  %6 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1, %2 : tensor<2x4x3x2xf32>, tensor<2x4x3x2xf32>) outs(%5 : tensor<2x4x3x3xf32>) { ^bb0(%in: f32, %in_5: f32, %out: f32): %13 = arith.mulf %in, %in_5 : f32 %14 = arith.addf %out, %13 : f32 linalg.yield %14 : f32 } -> tensor<2x4x3x3xf32>
  %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6 : tensor<2x4x3x3xf32>) outs(%4 : tensor<2x4x3x3xf32>) { ^bb0(%in: f32, %out: f32): %13 = arith.mulf %in, %cst : f32 linalg.yield %13 : f32 } -> tensor<2x4x3x3xf32>
  %8 = "xyntra.softmax"(%7) {axis = 3 : i64} : (tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %9 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x2xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x2xf32>
  %10 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%8, %3 : tensor<2x4x3x3xf32>, tensor<2x4x3x2xf32>) outs(%9 : tensor<2x4x3x2xf32>) { ^bb0(%in: f32, %in_5: f32, %out: f32): %13 = arith.mulf %in, %in_5 : f32 %14 = arith.addf %out, %13 : f32 linalg.yield %14 : f32 } -> tensor<2x4x3x2xf32>
  %11 = tensor.empty() : tensor<2x3x4x2xf32>
  %12 = linalg.generic {indexing_maps = [#map17, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10 : tensor<2x4x3x2xf32>) outs(%11 : tensor<2x3x4x2xf32>) { ^bb0(%in: f32, %out: f32): linalg.yield %in : f32 } -> tensor<2x3x4x2xf32>
  %collapsed = tensor.collapse_shape %12 [[0], [1], [2, 3]] : tensor<2x3x4x2xf32> into tensor<2x3x8xf32>
  return %collapsed : tensor<2x3x8xf32>
}

// Two dimensions; the key is transposed by the contraction.
// CHECK-LABEL: func.func @one_head(
func.func @one_head(%arg0: tensor<3x2xf32>, %arg1: tensor<5x2xf32>, %arg2: tensor<5x7xf32>) -> tensor<3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_SD]], #[[$AT_TD]], #[[$AT_TE]], #[[$AT_SE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 1, 1, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map18], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map19, #map20, #map21], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<3x2xf32>, tensor<5x2xf32>) outs(%1 : tensor<3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map18, #map18], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<3x5xf32>) outs(%0 : tensor<3x5xf32>) { ^bb0(%in: f32, %out: f32): %8 = arith.mulf %in, %cst : f32 linalg.yield %8 : f32 } -> tensor<3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 1 : i64} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %5 = tensor.empty() : tensor<3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map18], iterator_types = ["parallel", "parallel"]} outs(%5 : tensor<3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map19, #map22, #map21], iterator_types = ["parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<3x5xf32>, tensor<5x7xf32>) outs(%6 : tensor<3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<3x7xf32>
  return %7 : tensor<3x7xf32>
}

// Two query heads for each key: unsqueeze, expand, reshape.
// CHECK-LABEL: func.func @repeated_keys(
func.func @repeated_keys(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x2x5x2xf32>, %arg2: tensor<2x2x5x7xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BH_BY_2TD]], #[[$AT_BH_BY_2TE]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %expanded = tensor.expand_shape %arg1 [[0], [1], [2, 3], [4]] output_shape [2, 2, 1, 5, 2] : tensor<2x2x5x2xf32> into tensor<2x2x1x5x2xf32>
  %0 = tensor.empty() : tensor<2x2x2x5x2xf32>
  %1 = linalg.generic {indexing_maps = [#map23, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x2x1x5x2xf32>) outs(%0 : tensor<2x2x2x5x2xf32>) { ^bb0(%in: f32, %out: f32): linalg.yield %in : f32 } -> tensor<2x2x2x5x2xf32>
  %collapsed = tensor.collapse_shape %1 [[0], [1, 2], [3], [4]] : tensor<2x2x2x5x2xf32> into tensor<2x4x5x2xf32>
  %expanded_1 = tensor.expand_shape %arg2 [[0], [1], [2, 3], [4]] output_shape [2, 2, 1, 5, 7] : tensor<2x2x5x7xf32> into tensor<2x2x1x5x7xf32>
  %2 = tensor.empty() : tensor<2x2x2x5x7xf32>
  %3 = linalg.generic {indexing_maps = [#map23, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_1 : tensor<2x2x1x5x7xf32>) outs(%2 : tensor<2x2x2x5x7xf32>) { ^bb0(%in: f32, %out: f32): linalg.yield %in : f32 } -> tensor<2x2x2x5x7xf32>
  %collapsed_2 = tensor.collapse_shape %3 [[0], [1, 2], [3], [4]] : tensor<2x2x2x5x7xf32> into tensor<2x4x5x7xf32>
  %4 = tensor.empty() : tensor<2x4x3x5xf32>
  %5 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%4 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %6 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %collapsed : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%5 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %12 = arith.mulf %in, %in_3 : f32 %13 = arith.addf %out, %12 : f32 linalg.yield %13 : f32 } -> tensor<2x4x3x5xf32>
  %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6 : tensor<2x4x3x5xf32>) outs(%4 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %12 = arith.mulf %in, %cst : f32 linalg.yield %12 : f32 } -> tensor<2x4x3x5xf32>
  %8 = "xyntra.softmax"(%7) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %9 = tensor.empty() : tensor<2x4x3x7xf32>
  %10 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%9 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %11 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%8, %collapsed_2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%10 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %12 = arith.mulf %in, %in_3 : f32 %13 = arith.addf %out, %12 : f32 linalg.yield %13 : f32 } -> tensor<2x4x3x7xf32>
  return %11 : tensor<2x4x3x7xf32>
}

// Two query heads for each key, in a dimension of their own.
// CHECK-LABEL: func.func @grouped_queries(
func.func @grouped_queries(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x2x5x2xf32>, %arg2: tensor<2x2x5x7xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BH_BY_2TD]], #[[$AT_BH_BY_2TE]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %expanded = tensor.expand_shape %arg0 [[0], [1, 2], [3], [4]] output_shape [2, 2, 2, 3, 2] : tensor<2x4x3x2xf32> into tensor<2x2x2x3x2xf32>
  %0 = tensor.empty() : tensor<2x2x2x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map15], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x2x2x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x2x2x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map24, #map25, #map26], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded, %arg1 : tensor<2x2x2x3x2xf32>, tensor<2x2x5x2xf32>) outs(%1 : tensor<2x2x2x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x2x2x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x2x2x3x5xf32>) outs(%0 : tensor<2x2x2x3x5xf32>) { ^bb0(%in: f32, %out: f32): %8 = arith.mulf %in, %cst : f32 linalg.yield %8 : f32 } -> tensor<2x2x2x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 4 : i64} : (tensor<2x2x2x3x5xf32>) -> tensor<2x2x2x3x5xf32>
  %5 = tensor.empty() : tensor<2x2x2x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map15], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x2x2x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x2x2x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map24, #map27, #map26], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x2x2x3x5xf32>, tensor<2x2x5x7xf32>) outs(%6 : tensor<2x2x2x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x2x2x3x7xf32>
  %collapsed = tensor.collapse_shape %7 [[0], [1, 2], [3], [4]] : tensor<2x2x2x3x7xf32> into tensor<2x4x3x7xf32>
  return %collapsed : tensor<2x4x3x7xf32>
}

// Multi-query attention: keys and values without heads.
// CHECK-LABEL: func.func @one_key_for_all(
func.func @one_key_for_all(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x5x2xf32>, %arg2: tensor<2x5x7xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BTD]], #[[$AT_BTE]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map28, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x5xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %8 = arith.mulf %in, %cst : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %4 = "xyntra.softmax"(%3) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %5 = tensor.empty() : tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map29, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<2x4x3x5xf32>, tensor<2x5x7xf32>) outs(%6 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_1: f32, %out: f32): %8 = arith.mulf %in, %in_1 : f32 %9 = arith.addf %out, %8 : f32 linalg.yield %9 : f32 } -> tensor<2x4x3x7xf32>
  return %7 : tensor<2x4x3x7xf32>
}

// Rotary embedding of queries in front, which stays there.
// CHECK-LABEL: func.func @rotated(
func.func @rotated(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<3x2xf32>, %arg4: tensor<3x2xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}) {causal = false, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_BHSE]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.707106769 : f32, sizes = array<i64: 2, 4, 3, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.707106769 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %extracted_slice = tensor.extract_slice %arg0[0, 0, 0, 0] [2, 4, 3, 1] [1, 1, 1, 1] : tensor<2x4x3x2xf32> to tensor<2x4x3x1xf32>
  %extracted_slice_1 = tensor.extract_slice %arg0[0, 0, 0, 1] [2, 4, 3, 1] [1, 1, 1, 1] : tensor<2x4x3x2xf32> to tensor<2x4x3x1xf32>
  %padded = tensor.pad %extracted_slice low[0, 0, 0, 1] high[0, 0, 0, 0] {
  ^bb0(%arg5: index, %arg6: index, %arg7: index, %arg8: index):
    tensor.yield %cst_0 : f32
  } : tensor<2x4x3x1xf32> to tensor<2x4x3x2xf32>
  %padded_2 = tensor.pad %extracted_slice_1 low[0, 0, 0, 0] high[0, 0, 0, 1] {
  ^bb0(%arg5: index, %arg6: index, %arg7: index, %arg8: index):
    tensor.yield %cst_0 : f32
  } : tensor<2x4x3x1xf32> to tensor<2x4x3x2xf32>
  %0 = tensor.empty() : tensor<2x4x3x2xf32>
  %1 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%padded, %padded_2 : tensor<2x4x3x2xf32>, tensor<2x4x3x2xf32>) outs(%0 : tensor<2x4x3x2xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %11 = arith.subf %in, %in_3 : f32 linalg.yield %11 : f32 } -> tensor<2x4x3x2xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map, #map11, #map11, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %1, %arg3, %arg4 : tensor<2x4x3x2xf32>, tensor<2x4x3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) outs(%0 : tensor<2x4x3x2xf32>) { ^bb0(%in: f32, %in_3: f32, %in_4: f32, %in_5: f32, %out: f32): %11 = arith.mulf %in, %in_4 : f32 %12 = arith.mulf %in_3, %in_5 : f32 %13 = arith.addf %11, %12 : f32 linalg.yield %13 : f32 } -> tensor<2x4x3x2xf32>
  %3 = tensor.empty() : tensor<2x4x3x5xf32>
  %4 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%3 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x5xf32>
  %5 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%2, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%4 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %11 = arith.mulf %in, %in_3 : f32 %12 = arith.addf %out, %11 : f32 linalg.yield %12 : f32 } -> tensor<2x4x3x5xf32>
  %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5 : tensor<2x4x3x5xf32>) outs(%3 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %out: f32): %11 = arith.mulf %in, %cst : f32 linalg.yield %11 : f32 } -> tensor<2x4x3x5xf32>
  %7 = "xyntra.softmax"(%6) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %8 = tensor.empty() : tensor<2x4x3x7xf32>
  %9 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%8 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst_0 : f32 } -> tensor<2x4x3x7xf32>
  %10 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%7, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%9 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_3: f32, %out: f32): %11 = arith.mulf %in, %in_3 : f32 %12 = arith.addf %out, %11 : f32 linalg.yield %12 : f32 } -> tensor<2x4x3x7xf32>
  return %10 : tensor<2x4x3x7xf32>
}

// Every query has keys of its own: as many heads of one query each.
// CHECK-LABEL: func.func @keys_of_each_query(
func.func @keys_of_each_query(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x3x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = false, indexing_maps = [#[[$AT_BH_BY_3H_MOD_3D]], #[[$AT_BH_MOD_3TD]], #[[$AT_BH_BY_3TE]], #[[$AT_BH_BY_3H_MOD_3E]]]
  // CHECK-SAME: masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 1.000000e+00 : f32, sizes = array<i64: 2, 12, 1, 5, 2, 7>}
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map30, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x3x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %7 = arith.mulf %in, %in_0 : f32 %8 = arith.addf %out, %7 : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %3 = "xyntra.softmax"(%2) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %4 = tensor.empty() : tensor<2x4x3x7xf32>
  %5 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%4 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%3, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %7 = arith.mulf %in, %in_0 : f32 %8 = arith.addf %out, %7 : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x7xf32>
  return %6 : tensor<2x4x3x7xf32>
}

// The mask compares two tensors of positions, each of which is a loop index.
// CHECK-LABEL: func.func @tensors_of_positions(
func.func @tensors_of_positions(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2) {causal = true, indexing_maps = [#[[$AT_BHSD]], #[[$AT_BHTD]], #[[$AT_BHTE]], #[[$AT_BHSE]]]
  // CHECK-NOT: "reduction"
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<2x4x3x5xf32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x5xf32>
  %2 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>) outs(%1 : tensor<2x4x3x5xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %7 = arith.mulf %in, %in_0 : f32 %8 = arith.addf %out, %7 : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x5xf32>
  %rows = tensor.empty() : tensor<1x1x3x1xi64>
  %i = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%rows : tensor<1x1x3x1xi64>) { ^bb0(%out: i64): %7 = linalg.index 2 : index %8 = arith.index_cast %7 : index to i64 linalg.yield %8 : i64 } -> tensor<1x1x3x1xi64>
  %columns = tensor.empty() : tensor<1x1x1x5xi64>
  %j = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%columns : tensor<1x1x1x5xi64>) { ^bb0(%out: i64): %7 = linalg.index 3 : index %8 = arith.index_cast %7 : index to i64 linalg.yield %8 : i64 } -> tensor<1x1x1x5xi64>
  %flags = tensor.empty() : tensor<1x1x3x5xi1>
  %mask = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%j, %i : tensor<1x1x1x5xi64>, tensor<1x1x3x1xi64>) outs(%flags : tensor<1x1x3x5xi1>) { ^bb0(%in: i64, %in_0: i64, %out: i1): %7 = arith.cmpi sle, %in, %in_0 : i64 linalg.yield %7 : i1 } -> tensor<1x1x3x5xi1>
  %kept = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%mask, %2 : tensor<1x1x3x5xi1>, tensor<2x4x3x5xf32>) outs(%0 : tensor<2x4x3x5xf32>) { ^bb0(%in: i1, %in_0: f32, %out: f32): %7 = arith.select %in, %in_0, %cst_0 : f32 linalg.yield %7 : f32 } -> tensor<2x4x3x5xf32>
  %3 = "xyntra.softmax"(%kept) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %4 = tensor.empty() : tensor<2x4x3x7xf32>
  %5 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%4 : tensor<2x4x3x7xf32>) { ^bb0(%out: f32): linalg.yield %cst : f32 } -> tensor<2x4x3x7xf32>
  %6 = linalg.generic {indexing_maps = [#map1, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%3, %arg2 : tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) outs(%5 : tensor<2x4x3x7xf32>) { ^bb0(%in: f32, %in_0: f32, %out: f32): %7 = arith.mulf %in, %in_0 : f32 %8 = arith.addf %out, %7 : f32 linalg.yield %8 : f32 } -> tensor<2x4x3x7xf32>
  return %6 : tensor<2x4x3x7xf32>
}

// Rows whose largest score is -inf become 0: what PyTorch's attention takes for a softmax.
// CHECK-LABEL: func.func @rows_without_scores(
func.func @rows_without_scores(%arg0: tensor<2x4x3x2xf32>, %arg1: tensor<2x4x5x2xf32>, %arg2: tensor<2x4x5x7xf32>, %arg3: tensor<2x4x3x5xf32>) -> tensor<2x4x3x7xf32> {
  // CHECK-NOT: "reduction"
  // CHECK: "xyntra.attention"(%arg0, %arg1, %arg2, %arg3) {causal = false
  // CHECK-SAME: masked_rows = "zero_if_empty"
  // CHECK-NOT: "reduction"
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
  return %6 : tensor<2x4x3x7xf32>
}
