// RUN: %xyntra-opt %s --widen-contractions | FileCheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#row = affine_map<(m, k) -> (m, k)>
#sum = affine_map<(m, k) -> (m)>

// Sums of doubles are not those of f32.
// CHECK-LABEL: func.func @doubles(
// CHECK: ins(%arg0, %arg1 : tensor<4x8xf16>, tensor<8x6xf16>)
func.func @doubles(%a: tensor<4x8xf16>, %b: tensor<8x6xf16>, %f: tensor<4x6xf64>) -> tensor<4x6xf64> {
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x8xf16>, tensor<8x6xf16>) outs(%f : tensor<4x6xf64>) {
  ^bb0(%x: f16, %y: f16, %acc: f64):
    %u = arith.extf %x : f16 to f64
    %v = arith.extf %y : f16 to f64
    %m = arith.mulf %u, %v : f64
    %s = arith.addf %acc, %m : f64
    linalg.yield %s : f64
  } -> tensor<4x6xf64>
  return %r : tensor<4x6xf64>
}

// Products that are rounded to f16 are not those of f32.
// CHECK-LABEL: func.func @rounded_products(
// CHECK: ins(%arg0, %arg1 : tensor<4x8xf16>, tensor<8x6xf16>)
func.func @rounded_products(%a: tensor<4x8xf16>, %b: tensor<8x6xf16>, %f: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x8xf16>, tensor<8x6xf16>) outs(%f : tensor<4x6xf32>) {
  ^bb0(%x: f16, %y: f16, %acc: f32):
    %m = arith.mulf %x, %y : f16
    %u = arith.extf %m : f16 to f32
    %s = arith.addf %acc, %u : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// A sum reads each element once.
// CHECK-LABEL: func.func @sum(
// CHECK: ins(%arg0 : tensor<4x8xf16>)
func.func @sum(%a: tensor<4x8xf16>, %f: tensor<4xf32>) -> tensor<4xf32> {
  %r = linalg.generic {indexing_maps = [#row, #sum], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<4x8xf16>) outs(%f : tensor<4xf32>) {
  ^bb0(%x: f16, %acc: f32):
    %u = arith.extf %x : f16 to f32
    %s = arith.addf %acc, %u : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}
