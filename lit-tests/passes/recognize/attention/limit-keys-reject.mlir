// RUN: %xyntra-opt %s --limit-keys | FileCheck %s

#q = affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>
#k = affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>
#v = affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>
#m = affine_map<(b, h, s, t, d, e) -> (0, 0, s, t)>
#o = affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>
#id = affine_map<(b, h, s, t) -> (b, h, s, t)>
#last = affine_map<(b, h, s, t) -> (t)>
#one = affine_map<(b, h, s, t) -> ()>

// CHECK-NOT: array<i32: 1, 1, 1, 1, 0, 1>

// What is compared differs from key to key.
// CHECK-LABEL: func.func @by_key
func.func @by_key(%q: tensor<1x4x2x8xf32>, %k: tensor<1x4x96x8xf32>, %n: tensor<96xi64>) -> tensor<1x4x2x8xf32> {
  %e = tensor.empty() : tensor<1x1x2x96xi1>
  %m = linalg.generic {indexing_maps = [#last, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%n : tensor<96xi64>) outs(%e : tensor<1x1x2x96xi1>) {
  ^bb0(%x: i64, %out: i1):
    %t = linalg.index 3 : index
    %t64 = arith.index_cast %t : index to i64
    %c = arith.cmpi slt, %t64, %x : i64
    linalg.yield %c : i1
  } -> tensor<1x1x2x96xi1>
  %0 = "xyntra.attention"(%q, %k, %k, %m) {causal = false, indexing_maps = [#q, #k, #v, #m, #o], masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>, scale = 1.0 : f32, sizes = array<i64: 1, 4, 2, 96, 8, 8>} : (tensor<1x4x2x8xf32>, tensor<1x4x96x8xf32>, tensor<1x4x96x8xf32>, tensor<1x1x2x96xi1>) -> tensor<1x4x2x8xf32>
  return %0 : tensor<1x4x2x8xf32>
}

// Either condition keeps a key; and keys ahead of a number are hidden, not those behind it.
// CHECK-LABEL: func.func @either
func.func @either(%q: tensor<1x4x2x8xf32>, %k: tensor<1x4x96x8xf32>, %n: tensor<i64>) -> tensor<1x4x2x8xf32> {
  %seven = arith.constant 7 : i64
  %e = tensor.empty() : tensor<1x1x2x96xi1>
  %m = linalg.generic {indexing_maps = [#one, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%n : tensor<i64>) outs(%e : tensor<1x1x2x96xi1>) {
  ^bb0(%x: i64, %out: i1):
    %t = linalg.index 3 : index
    %t64 = arith.index_cast %t : index to i64
    %c = arith.cmpi slt, %t64, %x : i64
    %d = arith.cmpi sgt, %t64, %seven : i64
    %f = arith.ori %c, %d : i1
    linalg.yield %f : i1
  } -> tensor<1x1x2x96xi1>
  %0 = "xyntra.attention"(%q, %k, %k, %m) {causal = false, indexing_maps = [#q, #k, #v, #m, #o], masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>, scale = 1.0 : f32, sizes = array<i64: 1, 4, 2, 96, 8, 8>} : (tensor<1x4x2x8xf32>, tensor<1x4x96x8xf32>, tensor<1x4x96x8xf32>, tensor<1x1x2x96xi1>) -> tensor<1x4x2x8xf32>
  return %0 : tensor<1x4x2x8xf32>
}

// Scores of hidden keys are finite, and have a weight.
// CHECK-LABEL: func.func @finite
func.func @finite(%q: tensor<1x4x2x8xf32>, %k: tensor<1x4x96x8xf32>, %n: tensor<i64>) -> tensor<1x4x2x8xf32> {
  %e = tensor.empty() : tensor<1x1x2x96xi1>
  %m = linalg.generic {indexing_maps = [#one, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%n : tensor<i64>) outs(%e : tensor<1x1x2x96xi1>) {
  ^bb0(%x: i64, %out: i1):
    %t = linalg.index 3 : index
    %t64 = arith.index_cast %t : index to i64
    %c = arith.cmpi slt, %t64, %x : i64
    linalg.yield %c : i1
  } -> tensor<1x1x2x96xi1>
  %0 = "xyntra.attention"(%q, %k, %k, %m) {causal = false, fill = -1.0 : f32, indexing_maps = [#q, #k, #v, #m, #o], masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>, scale = 1.0 : f32, sizes = array<i64: 1, 4, 2, 96, 8, 8>} : (tensor<1x4x2x8xf32>, tensor<1x4x96x8xf32>, tensor<1x4x96x8xf32>, tensor<1x1x2x96xi1>) -> tensor<1x4x2x8xf32>
  return %0 : tensor<1x4x2x8xf32>
}
