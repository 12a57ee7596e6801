// RUN: %xyntra-opt %s --widen-contractions | FileCheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Each factor is widened once, however many contractions read it.
// CHECK-LABEL: func.func @product(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<4x8xf16>, %[[B:[a-z0-9]+]]: tensor<8x6xf16>, %[[C:[a-z0-9]+]]: tensor<8x6xf32>
// CHECK: %[[WA:.+]] = linalg.generic {{.+}} ins(%[[A]] : tensor<4x8xf16>) outs({{.+}} : tensor<4x8xf32>)
// CHECK: arith.extf
// CHECK: %[[WB:.+]] = linalg.generic {{.+}} ins(%[[B]] : tensor<8x6xf16>) outs({{.+}} : tensor<8x6xf32>)
// CHECK: arith.extf
// CHECK: linalg.generic {{.+}} ins(%[[WA]], %[[WB]] : tensor<4x8xf32>, tensor<8x6xf32>)
// CHECK-NOT: arith.extf
// CHECK: linalg.generic {{.+}} ins(%[[WA]], %[[C]] : tensor<4x8xf32>, tensor<8x6xf32>)
// CHECK-NOT: arith.extf
// CHECK: return
func.func @product(%a: tensor<4x8xf16>, %b: tensor<8x6xf16>, %c: tensor<8x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x8xf16>, tensor<8x6xf16>) outs(%f : tensor<4x6xf32>) {
  ^bb0(%x: f16, %y: f16, %acc: f32):
    %u = arith.extf %x : f16 to f32
    %v = arith.extf %y : f16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  %t = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %c : tensor<4x8xf16>, tensor<8x6xf32>) outs(%f : tensor<4x6xf32>) {
  ^bb0(%x: f16, %y: f32, %acc: f32):
    %u = arith.extf %x : f16 to f32
    %m = arith.mulf %u, %y : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  return %r, %t : tensor<4x6xf32>, tensor<4x6xf32>
}
