// RUN: %xyntra-opt %s --fast-math | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Products and sums may be fused; the sum of a reduction may be reordered as well.
// CHECK-LABEL: func.func @dot(
// CHECK: arith.mulf {{%.+}}, {{%.+}} fastmath<contract> : f32
// CHECK: arith.addf {{%.+}}, {{%.+}} fastmath<reassoc,contract> : f32
func.func @dot(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %o: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %y : tensor<4x8xf32>, tensor<4x8xf32>) outs(%o : tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @product(
// CHECK: arith.mulf {{%.+}}, {{%.+}} fastmath<reassoc,contract> : f64
func.func @product(%x: tensor<4x8xf64>, %o: tensor<4xf64>) -> tensor<4xf64> {
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf64>) outs(%o : tensor<4xf64>) {
  ^bb0(%p: f64, %acc: f64):
    %m = arith.mulf %p, %acc : f64
    linalg.yield %m : f64
  } -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// Outside of reductions the order stays as it is.
// CHECK-LABEL: func.func @elementwise(
// CHECK: arith.subf {{%.+}}, {{%.+}} fastmath<contract> : f16
// CHECK: arith.addf {{%.+}}, {{%.+}} fastmath<contract> : f16
// CHECK: return
func.func @elementwise(%x: f16, %y: f16) -> f16 {
  %0 = arith.subf %x, %y : f16
  %1 = arith.addf %0, %y : f16
  return %1 : f16
}

// |p| - p is 0 or -2 p, which a multiply-add of p's factors would not give: a product that is used
// twice, or computed twice, keeps its rounding. So does one that other loops may use.
// CHECK-LABEL: func.func @used_twice(
// CHECK: %[[P:.+]] = arith.mulf %{{.+}}, %{{.+}} : f16
// CHECK: arith.subf {{%.+}}, %[[P]] fastmath<contract> : f16
// CHECK: %[[Q:.+]] = arith.mulf %{{.+}}, %{{.+}} : f16
// CHECK: arith.subf %[[P]], %[[Q]] fastmath<contract> : f16
// CHECK: %[[R:.+]] = arith.mulf %{{.+}}, %{{.+}} fastmath<contract> : f16
// CHECK: arith.subf {{%.+}}, %[[R]] fastmath<contract> : f16
func.func @used_twice(%x: f16, %y: f16) -> (f16, f16, f16) {
  %0 = arith.mulf %x, %y : f16
  %a = math.absf %0 : f16
  %1 = arith.subf %a, %0 : f16
  %2 = arith.mulf %y, %x : f16
  %3 = arith.subf %0, %2 : f16
  %4 = arith.mulf %x, %x : f16
  %5 = arith.subf %1, %4 : f16
  return %1, %3, %5 : f16, f16, f16
}

// CHECK-LABEL: func.func @for_other_loops(
// CHECK: arith.mulf %{{.+}}, %{{.+}} : f32
func.func @for_other_loops(%x: tensor<4x8xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%o : tensor<4x8xf32>) {
  ^bb0(%p: f32, %e: f32):
    %m = arith.mulf %p, %p : f32
    linalg.yield %m : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
