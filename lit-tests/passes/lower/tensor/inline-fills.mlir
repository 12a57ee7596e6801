// RUN: %xyntra-opt %s --inline-fills | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
#row = affine_map<(d0, d1) -> (d1)>

// A number and a vector that are filled, one of them by a linalg.generic, become constants.
// CHECK-LABEL: func.func private @bias
// CHECK-NOT: linalg.fill
// CHECK: linalg.generic
// CHECK-SAME: ins(%arg0 : tensor<4x8xf32>)
// CHECK-DAG: %[[SCALE:.+]] = arith.constant 2.000000e+00 : f32
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f16
// CHECK: arith.extf %[[ZERO]]
// CHECK: arith.mulf %{{.+}}, %[[SCALE]]
// CHECK-NOT: linalg.generic
func.func private @bias(%x: tensor<4x8xf32>) -> tensor<4x8xf32>
    attributes {xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %c = arith.constant 2.0 : f32
  %z = arith.constant 0.0 : f16
  %e0 = tensor.empty() : tensor<f16>
  %0 = linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []}
      outs(%e0 : tensor<f16>) {
  ^bb0(%o: f16):
    linalg.yield %z : f16
  } -> tensor<f16>
  %e1 = tensor.empty() : tensor<8xf32>
  %1 = linalg.fill ins(%c : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %2 = linalg.generic {
      indexing_maps = [#none, #id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %x, %1 : tensor<f16>, tensor<4x8xf32>, tensor<8xf32>)
      outs(%e : tensor<4x8xf32>) {
  ^bb0(%n: f16, %p: f32, %b: f32, %o: f32):
    %w = arith.extf %n : f16 to f32
    %s = arith.addf %p, %w : f32
    %t = arith.mulf %s, %b : f32
    linalg.yield %t : f32
  } -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// So does a tensor constant that holds one number.
// CHECK-LABEL: func.func private @untrained_scale
// CHECK-NOT: tensor<8xf16>
// CHECK: linalg.generic
// CHECK-SAME: ins(%arg0 : tensor<4x8xf32>)
// CHECK: %[[ONE:.+]] = arith.constant 1.000000e+00 : f16
// CHECK: arith.extf %[[ONE]]
func.func private @untrained_scale(%x: tensor<4x8xf32>) -> tensor<4x8xf32>
    attributes {xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %scale = arith.constant dense<1.0> : tensor<8xf16>
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %scale : tensor<4x8xf32>, tensor<8xf16>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %s: f16, %o: f32):
    %w = arith.extf %s : f16 to f32
    %t = arith.mulf %p, %w : f32
    linalg.yield %t : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
