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
