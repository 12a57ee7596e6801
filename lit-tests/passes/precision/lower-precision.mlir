// RUN: %xyntra-opt %s --lower-precision | FileCheck %s
// RUN: %xyntra-opt %s --lower-precision=activations=false | FileCheck %s --check-prefix=WEIGHTS
// RUN: %xyntra-opt %s --lower-precision=type=bf16 | FileCheck %s --check-prefix=BF16

#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// A product with a bias behind it: factors of 16 bits, a sum of f32, and rounding once, at the end. The bias is a vector, which
// costs nothing in f32. The result of the model keeps its type.
// CHECK: module attributes {xyntra.precisions = [{{.*}}"f16", ""], [{{.*}}"f16", ""]{{.*}}
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %arg0: tensor<4x64xf32>, %arg1: tensor<64x64xf16> {xyntra.dtype = "float16", xyntra.parameter = "w", xyntra.rounded = "float32"}
// CHECK-SAME: %arg2: tensor<64xf32> {xyntra.parameter = "b"}
// CHECK: %[[X:.+]] = linalg.generic {{.+}} ins(%arg0 : tensor<4x64xf32>) outs({{.+}} : tensor<4x64xf16>)
// CHECK: arith.truncf
// CHECK: %[[P:.+]] = linalg.generic {{.+}} ins(%[[X]], %arg1 : tensor<4x64xf16>, tensor<64x64xf16>) outs({{.+}} : tensor<4x64xf32>)
// CHECK-NEXT: ^bb0(%[[L:.+]]: f16, %[[R:.+]]: f16, %[[ACC:.+]]: f32):
// CHECK-NEXT: %[[LW:.+]] = arith.extf %[[L]]
// CHECK-NEXT: %[[RW:.+]] = arith.extf %[[R]]
// CHECK-NEXT: arith.mulf %[[LW]], %[[RW]] : f32
// CHECK: linalg.generic {{.+}} ins(%[[P]], %arg2 : tensor<4x64xf32>, tensor<64xf32>) outs({{.+}} : tensor<4x64xf16>)
// CHECK: %[[S:.+]] = "xyntra.softmax"({{.+}}) {axis = 1 : i64} : (tensor<4x64xf16>) -> tensor<4x64xf16>
// CHECK: tensor.extract_slice %[[S]]{{.+}} : tensor<4x64xf16> to tensor<2x64xf16>
// CHECK: linalg.generic {{.+}} outs({{.+}} : tensor<2x64xf32>)
// CHECK: return {{.+}} : tensor<2x64xf32>

// Where a call computes in f32, weights alone are stored in 16 bits, and widened where they are multiplied.
// WEIGHTS: func.func @main(
// WEIGHTS-SAME: %arg1: tensor<64x64xf16>
// WEIGHTS: linalg.generic {{.+}} ins(%arg0, %arg1 : tensor<4x64xf32>, tensor<64x64xf16>) outs({{.+}} : tensor<4x64xf32>)
// WEIGHTS-NEXT: ^bb0({{.+}}: f32, %[[W:.+]]: f16, {{.+}}: f32):
// WEIGHTS-NEXT: arith.extf %[[W]]
// WEIGHTS: "xyntra.softmax"({{.+}} -> tensor<4x64xf32>

// BF16: func.func @main(
// BF16-SAME: %arg1: tensor<64x64xbf16> {xyntra.dtype = "bfloat16"
// BF16: "xyntra.softmax"({{.+}} -> tensor<4x64xbf16>
func.func @main(%x: tensor<4x64xf32>, %w: tensor<64x64xf32> {xyntra.parameter = "w"}, %bias: tensor<64xf32> {xyntra.parameter = "b"}) -> tensor<2x64xf32> {
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
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %bias : tensor<4x64xf32>, tensor<64xf32>) outs(%e : tensor<4x64xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %s = arith.addf %l, %r : f32
    linalg.yield %s : f32
  } -> tensor<4x64xf32>
  %s = "xyntra.softmax"(%y) {axis = 1 : i64} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %half = tensor.extract_slice %s[0, 0] [2, 64] [1, 1] : tensor<4x64xf32> to tensor<2x64xf32>
  %e2 = tensor.empty() : tensor<2x64xf32>
  %z2 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e2 : tensor<2x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<2x64xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%half, %w : tensor<2x64xf32>, tensor<64x64xf32>) outs(%z2 : tensor<2x64xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %m = arith.mulf %l, %r : f32
    %t = arith.addf %acc, %m : f32
    linalg.yield %t : f32
  } -> tensor<2x64xf32>
  return %q : tensor<2x64xf32>
}
