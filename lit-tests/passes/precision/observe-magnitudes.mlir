// RUN: %xyntra-opt %s --observe-magnitudes=errors=f16 | FileCheck %s
// RUN: %xyntra-opt %s --observe-magnitudes | FileCheck %s --check-prefix=PEAKS

#id = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// The largest magnitude of the product, and the squares of it and of what rounding it and its factors changes.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: -> (tensor<4x64xf32>, tensor<f32> {xyntra.output = "xyntra.peak 3 of 5 {{.*}}"}, tensor<f32> {xyntra.output = "xyntra.error 3 {{.*}}"}, tensor<f32> {xyntra.output = "xyntra.size 3 {{.*}}"})
// CHECK: math.absf
// CHECK: arith.maximumf
// CHECK: arith.truncf
// CHECK: arith.extf
// CHECK: return {{.+}} : tensor<4x64xf32>, tensor<f32>, tensor<f32>, tensor<f32>
// PEAKS: -> (tensor<4x64xf32>, tensor<f32> {xyntra.output = "xyntra.peak 3 of 5 {{.*}}"})
// PEAKS-NOT: arith.truncf
func.func @main(%x: tensor<4x64xf32>, %w: tensor<64x64xf32> {xyntra.parameter = "w"}) -> tensor<4x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x64xf32>
  %z = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<4x64xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x64xf32>, tensor<64x64xf32>) outs(%z : tensor<4x64xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x64xf32>
  return %p : tensor<4x64xf32>
}
