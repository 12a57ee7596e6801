// RUN: %xyntra-opt %s --inline-fills | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#left = affine_map<(d0, d1) -> (d0)>

// What a sum starts from, and what is a result, stay filled tensors.
// CHECK-LABEL: func.func private @start
// CHECK: linalg.fill
// CHECK: linalg.generic
// CHECK-SAME: outs(%{{.+}} : tensor<4xf32>)
func.func private @start(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {xyntra.kernel = #xyntra.kernel<{kind = "row"}>} {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [#id, #left], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %1, %0 : tensor<4xf32>, tensor<4xf32>
}

// Only the filled tensor says how long the reduction is.
// CHECK-LABEL: func.func private @length
// CHECK: %[[FILLED:.+]] = linalg.fill
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[FILLED]] : tensor<4x8xf32>)
func.func private @length(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {xyntra.kernel = #xyntra.kernel<{kind = "row"}>} {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.fill ins(%one : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #left], iterator_types = ["parallel", "reduction"]}
      ins(%0 : tensor<4x8xf32>) outs(%x : tensor<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// The elements differ.
// CHECK-LABEL: func.func private @trained_scale
// CHECK: %[[SCALE:.+]] = arith.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: ins(%arg0, %[[SCALE]] : tensor<2xf32>, tensor<2xf32>)
func.func private @trained_scale(%x: tensor<2xf32>) -> tensor<2xf32>
    attributes {xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %scale = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %e = tensor.empty() : tensor<2xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x, %scale : tensor<2xf32>, tensor<2xf32>) outs(%e : tensor<2xf32>) {
  ^bb0(%p: f32, %s: f32, %o: f32):
    %t = arith.mulf %p, %s : f32
    linalg.yield %t : f32
  } -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
