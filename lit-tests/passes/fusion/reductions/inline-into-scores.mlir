// RUN: %xyntra-opt %s --inline-into-scores | FileCheck %s

#id = affine_map<(h, s, t) -> (h, s, t)>
#head = affine_map<(h, s, t) -> (h, 0, 0)>
#query = affine_map<(h, s, t) -> (0, s, 0)>
#key = affine_map<(h, s, t) -> (0, 0, t)>
#q = affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>
#k = affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>
#v = affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>
#m = affine_map<(b, h, s, t, d, e) -> (h, s, t)>
#o = affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>

// A slope times a distance is one operation on the slopes, marked to be repeated by its readers. The
// distance is computed in floats, in which both places are exact; no integer of 64 bits is left.
// CHECK-LABEL: func.func @distance(
// CHECK-SAME: %[[SLOPES:[^:]*]]: tensor<4x1x1xf32>
// CHECK-NOT: i64
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[SLOPES]] : tensor<4x1x1xf32>) outs(%{{.*}} : tensor<4x256x256xf32>)
// CHECK-SAME: xyntra.in_tiles
// CHECK-DAG: %[[I:.*]] = linalg.index 1
// CHECK-DAG: %[[J:.*]] = linalg.index 2
// CHECK-DAG: arith.index_cast %[[I]] : index to i32
// CHECK-DAG: arith.index_cast %[[J]] : index to i32
// CHECK: arith.subf
// CHECK: arith.mulf
// CHECK: "xyntra.attention"
func.func @distance(%q: tensor<1x4x256x16xf16>, %k: tensor<1x4x256x16xf16>, %v: tensor<1x4x256x16xf16>, %slopes: tensor<4x1x1xf32>) -> tensor<1x4x256x16xf16> {
  %e0 = tensor.empty() : tensor<1x256x1xi64>
  %i = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e0 : tensor<1x256x1xi64>) {
  ^bb0(%o: i64):
    %n = linalg.index 1 : index
    %c = arith.index_cast %n : index to i64
    linalg.yield %c : i64
  } -> tensor<1x256x1xi64>
  %e1 = tensor.empty() : tensor<1x1x256xi64>
  %j = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e1 : tensor<1x1x256xi64>) {
  ^bb0(%o: i64):
    %n = linalg.index 2 : index
    %c = arith.index_cast %n : index to i64
    linalg.yield %c : i64
  } -> tensor<1x1x256xi64>
  %e2 = tensor.empty() : tensor<1x256x256xf32>
  %apart = linalg.generic {indexing_maps = [#query, #key, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%i, %j : tensor<1x256x1xi64>, tensor<1x1x256xi64>) outs(%e2 : tensor<1x256x256xf32>) {
  ^bb0(%a: i64, %b: i64, %o: f32):
    %d = arith.subi %a, %b : i64
    %f = arith.sitofp %d : i64 to f32
    linalg.yield %f : f32
  } -> tensor<1x256x256xf32>
  %e3 = tensor.empty() : tensor<4x256x256xf32>
  %bias = linalg.generic {indexing_maps = [#head, affine_map<(h, s, t) -> (0, s, t)>, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%slopes, %apart : tensor<4x1x1xf32>, tensor<1x256x256xf32>) outs(%e3 : tensor<4x256x256xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<4x256x256xf32>
  %y = "xyntra.attention"(%q, %k, %v, %bias) {causal = false, indexing_maps = [#q, #k, #v, #m, #o], masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>, scale = 2.5e-01 : f32, sizes = array<i64: 1, 4, 256, 256, 16, 16>} : (tensor<1x4x256x16xf16>, tensor<1x4x256x16xf16>, tensor<1x4x256x16xf16>, tensor<4x256x256xf32>) -> tensor<1x4x256x16xf16>
  return %y : tensor<1x4x256x16xf16>
}

// A function of few elements is computed once, and read.
// CHECK-LABEL: func.func @slopes(
// CHECK: math.exp2
// CHECK: linalg.generic
// CHECK-SAME: xyntra.in_tiles
// CHECK-NOT: math.exp2
// CHECK: "xyntra.attention"
func.func @slopes(%q: tensor<1x4x256x16xf16>, %k: tensor<1x4x256x16xf16>, %v: tensor<1x4x256x16xf16>, %x: tensor<4x1x1xf32>) -> tensor<1x4x256x16xf16> {
  %e0 = tensor.empty() : tensor<4x1x1xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x1x1xf32>) outs(%e0 : tensor<4x1x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = math.exp2 %a : f32
    linalg.yield %p : f32
  } -> tensor<4x1x1xf32>
  %e1 = tensor.empty() : tensor<4x256x256xf32>
  %bias = linalg.generic {indexing_maps = [#head, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<4x1x1xf32>) outs(%e1 : tensor<4x256x256xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = linalg.index 2 : index
    %c = arith.index_cast %n : index to i64
    %f = arith.sitofp %c : i64 to f32
    %m = arith.mulf %a, %f : f32
    linalg.yield %m : f32
  } -> tensor<4x256x256xf32>
  %y = "xyntra.attention"(%q, %k, %v, %bias) {causal = false, indexing_maps = [#q, #k, #v, #m, #o], masked_rows = "nan", operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>, scale = 2.5e-01 : f32, sizes = array<i64: 1, 4, 256, 256, 16, 16>} : (tensor<1x4x256x16xf16>, tensor<1x4x256x16xf16>, tensor<1x4x256x16xf16>, tensor<4x256x256xf32>) -> tensor<1x4x256x16xf16>
  return %y : tensor<1x4x256x16xf16>
}
