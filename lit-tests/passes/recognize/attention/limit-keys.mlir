// RUN: %xyntra-opt %s --limit-keys | FileCheck %s

#q = affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>
#k = affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>
#v = affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>
#m = affine_map<(b, h, s, t, d, e) -> (b, 0, s, t)>
#o = affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>
#id = affine_map<(b, h, s, t) -> (b, h, s, t)>
#row = affine_map<(b, h, s, t) -> (b)>

// Key t is kept for query s where t <= s + before: two queries see before + 2 keys.
// CHECK-LABEL: func.func @keep
// CHECK: %[[LIMIT:[0-9]+]] = linalg.generic {{.*}} ins(%arg3 : tensor<3xi64>) outs(%{{.*}} : tensor<3xi64>)
// CHECK: arith.addi
// CHECK: arith.maxsi
// CHECK: arith.minsi
// CHECK: linalg.yield
// CHECK: "xyntra.attention"(%arg0, %arg1, %arg2, %{{.*}}, %[[LIMIT]])
// CHECK-SAME: operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>
func.func @keep(%q: tensor<3x4x2x8xf32>, %k: tensor<3x4x96x8xf32>, %v: tensor<3x4x96x8xf32>, %before: tensor<3xi64>) -> tensor<3x4x2x8xf32> {
  %e = tensor.empty() : tensor<3x1x2x96xi1>
  %m = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%before : tensor<3xi64>) outs(%e : tensor<3x1x2x96xi1>) {
  ^bb0(%n: i64, %out: i1):
    %s = linalg.index 2 : index
    %t = linalg.index 3 : index
    %s64 = arith.index_cast %s : index to i64
    %t64 = arith.index_cast %t : index to i64
    %last = arith.addi %s64, %n : i64
    %c = arith.cmpi sle, %t64, %last : i64
    linalg.yield %c : i1
  } -> tensor<3x1x2x96xi1>
  %0 = "xyntra.attention"(%q, %k, %v, %m) {causal = false, indexing_maps = [#q, #k, #v, #m, #o], masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>, scale = 1.0 : f32, sizes = array<i64: 3, 4, 2, 96, 8, 8>} : (tensor<3x4x2x8xf32>, tensor<3x4x96x8xf32>, tensor<3x4x96x8xf32>, tensor<3x1x2x96xi1>) -> tensor<3x4x2x8xf32>
  return %0 : tensor<3x4x2x8xf32>
}

// The bias is -inf from a length on.
// CHECK-LABEL: func.func @bias
// CHECK: %[[LIMIT:[0-9]+]] = linalg.generic {{.*}} ins(%arg3 : tensor<3xi64>) outs(%{{.*}} : tensor<3xi64>)
// CHECK: "xyntra.attention"(%arg0, %arg1, %arg2, %{{.*}}, %[[LIMIT]])
// CHECK-SAME: operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1>
func.func @bias(%q: tensor<3x4x2x8xf32>, %k: tensor<3x4x96x8xf32>, %v: tensor<3x4x96x8xf32>, %length: tensor<3xi64>) -> tensor<3x4x2x8xf32> {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x1x2x96xf32>
  %m = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%length : tensor<3xi64>) outs(%e : tensor<3x1x2x96xf32>) {
  ^bb0(%n: i64, %out: f32):
    %t = linalg.index 3 : index
    %t64 = arith.index_cast %t : index to i64
    %c = arith.cmpi sgt, %n, %t64 : i64
    %x = arith.select %c, %zero, %low : f32
    linalg.yield %x : f32
  } -> tensor<3x1x2x96xf32>
  %0 = "xyntra.attention"(%q, %k, %v, %m) {causal = false, indexing_maps = [#q, #k, #v, #m, #o], masked_rows = "zero_if_empty", operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>, scale = 1.0 : f32, sizes = array<i64: 3, 4, 2, 96, 8, 8>} : (tensor<3x4x2x8xf32>, tensor<3x4x96x8xf32>, tensor<3x4x96x8xf32>, tensor<3x1x2x96xf32>) -> tensor<3x4x2x8xf32>
  return %0 : tensor<3x4x2x8xf32>
}

// A cache whose length is an input holds one key more once it was appended to.
// CHECK-LABEL: func.func @cache
// CHECK: %[[CACHE:[0-9]+]] = scf.for
// CHECK: %[[LIMIT:[0-9]+]] = linalg.generic {{.*}} ins(%arg3 : tensor<3xi64>) outs(%{{.*}} : tensor<3xi64>)
// CHECK: "xyntra.attention"(%arg0, %[[CACHE]], %arg4, %[[LIMIT]])
// CHECK-SAME: operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>
func.func @cache(%q: tensor<3x4x1x8xf32> {xyntra.input = "q"}, %past: tensor<3x4x96x8xf32> {xyntra.input = "past", xyntra.filled = "n"}, %new: tensor<3x4x1x8xf32> {xyntra.input = "new"}, %n: tensor<3xi64> {xyntra.input = "n"}, %v: tensor<3x4x96x8xf32> {xyntra.input = "v"}) -> tensor<3x4x1x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %k = scf.for %b = %c0 to %c3 step %c1 iter_args(%t = %past) -> (tensor<3x4x96x8xf32>) {
    %at = tensor.extract %n[%b] : tensor<3xi64>
    %place = arith.index_cast %at : i64 to index
    %x = tensor.extract %new[%b, %c0, %c0, %c0] : tensor<3x4x1x8xf32>
    %u = tensor.insert %x into %t[%b, %c0, %place, %c0] : tensor<3x4x96x8xf32>
    scf.yield %u : tensor<3x4x96x8xf32>
  }
  %0 = "xyntra.attention"(%q, %k, %v) {causal = false, indexing_maps = [#q, #k, #v, #o], masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 1.0 : f32, sizes = array<i64: 3, 4, 1, 96, 8, 8>} : (tensor<3x4x1x8xf32>, tensor<3x4x96x8xf32>, tensor<3x4x96x8xf32>) -> tensor<3x4x1x8xf32>
  return %0 : tensor<3x4x1x8xf32>
}
