// RUN: %xyntra-opt %s --lower-precision --split-input-file | FileCheck %s

#id = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// The sine of a product needs all its digits, and so does the product. A weight beyond the range of f16, and one of which most
// would be subnormal, stay as they are.
// CHECK: "f32", "it has values up to 70000"
// CHECK-SAME: "f32", "its values are too small for 16 bits"
// CHECK-SAME: "f32", "the sine of it is taken"
// CHECK-SAME: "f32", "sums start from it"
// CHECK-SAME: "f32", "of a weight, it has values up to 70000"
// CHECK-SAME: "f32", "of a weight, its values are too small for 16 bits"
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %arg0: tensor<4x64xf32>, %arg1: tensor<64x64xf16>
// CHECK-SAME: %arg2: tensor<64x64xf32>
// CHECK-SAME: %arg3: tensor<64x64xf32>
// CHECK-NOT: arith.truncf
func.func @main(%x: tensor<4x64xf32>, %w: tensor<64x64xf32> {xyntra.parameter = "w"}, %large: tensor<64x64xf32> {xyntra.magnitude = 70000.0 : f32, xyntra.parameter = "large"}, %small: tensor<64x64xf32> {xyntra.magnitude = 1.0e-6 : f32, xyntra.parameter = "small"}) -> tensor<4x64xf32> {
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
  %sine = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<4x64xf32>) outs(%e : tensor<4x64xf32>) {
  ^bb0(%l: f32, %o: f32):
    %s = math.sin %l : f32
    linalg.yield %s : f32
  } -> tensor<4x64xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %large : tensor<4x64xf32>, tensor<64x64xf32>) outs(%sine : tensor<4x64xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x64xf32>
  %t = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %small : tensor<4x64xf32>, tensor<64x64xf32>) outs(%q : tensor<4x64xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x64xf32>
  return %t : tensor<4x64xf32>
}

// -----

#id = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Positions, as of rotary embeddings, depend on no weight and no float input: their products stay exact. A square that is a
// factor may overflow, and a mask of the largest number is no infinity.
// CHECK: "f32", "a square may overflow"
// CHECK-SAME: "f32", "it reaches 3.40282e+38"
// CHECK-SAME: "f32", "it reads no weights or inputs"
// CHECK-SAME: "f32", "of a factor, a square may overflow"
// CHECK-SAME: "f32", "a factor reaches 3.40282e+38"
// CHECK-NOT: tensor<{{.*}}xf16>
func.func @main(%ids: tensor<4x1xi64>, %x: tensor<4x4xf32>, %keep: tensor<4x4xi1>) -> (tensor<4x32xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF7FFFFF : f32
  %frequencies = arith.constant dense<0.5> : tensor<1x32xf32>
  %e1 = tensor.empty() : tensor<4x1xf32>
  %e = tensor.empty() : tensor<4x32xf32>
  %e4 = tensor.empty() : tensor<4x4xf32>
  %places = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<4x1xi64>) outs(%e1 : tensor<4x1xf32>) {
  ^bb0(%l: i64, %o: f32):
    %s = arith.sitofp %l : i64 to f32
    linalg.yield %s : f32
  } -> tensor<4x1xf32>
  %square = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%e4 : tensor<4x4xf32>) {
  ^bb0(%l: f32, %o: f32):
    %s = arith.mulf %l, %l : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  %masked = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%keep, %x : tensor<4x4xi1>, tensor<4x4xf32>) outs(%e4 : tensor<4x4xf32>) {
  ^bb0(%k: i1, %l: f32, %o: f32):
    %s = arith.select %k, %l, %lowest : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  %z = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x32xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<4x32xf32>
  %z4 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e4 : tensor<4x4xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<4x4xf32>
  %angles = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%places, %frequencies : tensor<4x1xf32>, tensor<1x32xf32>) outs(%z : tensor<4x32xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x32xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%square, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z4 : tensor<4x4xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%masked, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z4 : tensor<4x4xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  return %angles, %p, %q : tensor<4x32xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
