// RUN: %xyntra-opt %s --integer-contractions=float8=true --canonicalize | FileCheck %s
// RUN: %xyntra-opt %s --integer-contractions --canonicalize | FileCheck %s --check-prefix PLAIN

#id = affine_map<(m, n) -> (m, n)>
#column = affine_map<(m, n) -> (n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Bytes are multiplied as the floats that they are, and sums take both scales, where GPUs do that.
// CHECK-LABEL: func.func @product(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<4x8xi8>, %[[B:[a-z0-9]+]]: tensor<8x6xi8>
// CHECK: %[[P:.+]] = linalg.generic {{.+}} ins(%[[A]], %[[B]] : tensor<4x8xi8>, tensor<8x6xi8>) outs({{.+}} : tensor<4x6xf32>)
// CHECK: arith.extf %{{.+}} : f8E5M2 to f32
// CHECK: arith.extf %{{.+}} : f8E4M3FN to f32
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: linalg.generic {{.+}} ins(%[[P]], %{{.+}} : tensor<4x6xf32>, tensor<6xf32>)
// CHECK: arith.mulf
// CHECK: return
// PLAIN-LABEL: func.func @product(
// PLAIN: linalg.generic {{.+}} ins(%{{.+}}, %{{.+}} : tensor<4x8xf32>, tensor<8x6xf32>)
func.func @product(%qa: tensor<4x8xi8>, %qb: tensor<8x6xi8>, %s: tensor<6xf32>) -> tensor<4x6xf32> {
  %half = arith.constant 0.5 : f32
  %zero = arith.constant 0.0 : f32
  %ea = tensor.empty() : tensor<4x8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%qa : tensor<4x8xi8>) outs(%ea : tensor<4x8xf32>) {
  ^bb0(%x: i8, %o: f32):
    %w = arith.bitcast %x : i8 to f8E5M2
    %f = arith.extf %w : f8E5M2 to f32
    %r = arith.mulf %f, %half : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %eb = tensor.empty() : tensor<8x6xf32>
  %b = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%qb, %s : tensor<8x6xi8>, tensor<6xf32>) outs(%eb : tensor<8x6xf32>) {
  ^bb0(%x: i8, %t: f32, %o: f32):
    %w = arith.bitcast %x : i8 to f8E4M3FN
    %f = arith.extf %w : f8E4M3FN to f32
    %r = arith.mulf %f, %t : f32
    linalg.yield %r : f32
  } -> tensor<8x6xf32>
  %ec = tensor.empty() : tensor<4x6xf32>
  %fc = linalg.fill ins(%zero : f32) outs(%ec : tensor<4x6xf32>) -> tensor<4x6xf32>
  %c = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%fc : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %t: f32):
    %m = arith.mulf %x, %y : f32
    %n = arith.addf %t, %m : f32
    linalg.yield %n : f32
  } -> tensor<4x6xf32>
  return %c : tensor<4x6xf32>
}
