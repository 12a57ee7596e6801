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

// A product less itself is 0, which a fused multiply-add would not give: it keeps both roundings.
// CHECK-LABEL: func.func @difference_of_itself(
// CHECK: %[[P:.+]] = arith.mulf {{%.+}}, {{%.+}} fastmath<contract> : f16
// CHECK: arith.subf %[[P]], %[[P]] : f16
// CHECK: arith.subf %[[P]], {{%.+}} : f16
// CHECK: arith.subf %[[P]], {{%.+}} fastmath<contract> : f16
func.func @difference_of_itself(%x: f16, %y: f16) -> (f16, f16, f16) {
  %0 = arith.mulf %x, %y : f16
  %1 = arith.subf %0, %0 : f16
  %2 = arith.mulf %y, %x : f16
  %3 = arith.subf %0, %2 : f16
  %4 = arith.mulf %x, %x : f16
  %5 = arith.subf %0, %4 : f16
  return %1, %3, %5 : f16, f16, f16
}
