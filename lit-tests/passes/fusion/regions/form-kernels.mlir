// RUN: %xyntra-opt %s --form-kernels | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#line = affine_map<(d0) -> (d0)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>

// The fill of the accumulator belongs to the contraction.
// CHECK-LABEL: func.func @matmul
// CHECK: "xyntra.fused"() ({
// CHECK: linalg.generic {{.+}} outs(
// CHECK: linalg.generic {{.+}} ins(
// CHECK: "xyntra.yield"
// CHECK: kind = "contraction"
// CHECK-NOT: xyntra.fused
// CHECK: return
func.func @matmul(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) -> tensor<4x2xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x2xf32>
  %init = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x2xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<4x2xf32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x8xf32>, tensor<8x2xf32>) outs(%init : tensor<4x2xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// All insertions of a concatenation are one kernel.
// CHECK-LABEL: func.func @concat
// CHECK: "xyntra.fused"() ({
// CHECK: tensor.insert_slice
// CHECK: tensor.insert_slice
// CHECK: kind = "data"
// CHECK-NOT: xyntra.fused
// CHECK: return
func.func @concat(%x: tensor<4x2xf32>, %y: tensor<4x3xf32>) -> tensor<4x5xf32> {
  %e = tensor.empty() : tensor<4x5xf32>
  %0 = tensor.insert_slice %x into %e[0, 0] [4, 2] [1, 1] : tensor<4x2xf32> into tensor<4x5xf32>
  %1 = tensor.insert_slice %y into %0[0, 2] [4, 3] [1, 1] : tensor<4x3xf32> into tensor<4x5xf32>
  return %1 : tensor<4x5xf32>
}

// A view is part of the kernel that reads through it.
// CHECK-LABEL: func.func @kinds
// CHECK: xyntra.softmax
// CHECK: kind = "row"
// CHECK: "xyntra.fused"() ({
// CHECK: tensor.extract_slice
// CHECK: math.exp
// CHECK: kind = "elementwise"
func.func @kinds(%x: tensor<4x8xf32>) -> tensor<2x8xf32> {
  %0 = "xyntra.softmax"(%x) {axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = tensor.extract_slice %0[0, 0] [2, 8] [2, 1] : tensor<4x8xf32> to tensor<2x8xf32>
  %e = tensor.empty() : tensor<2x8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%1 : tensor<2x8xf32>) outs(%e : tensor<2x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<2x8xf32>
  return %2 : tensor<2x8xf32>
}

// A fill that is read at computed positions comes along.
// CHECK-LABEL: func.func @gather
// CHECK: "xyntra.fused"() ({
// CHECK: %[[FILL:.+]] = linalg.generic {{.+}} outs(
// CHECK: tensor.extract %[[FILL]]
// CHECK: return
func.func @gather(%i: tensor<4xi64>) -> tensor<4xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<2xf32>
  %fill = linalg.generic {indexing_maps = [#line], iterator_types = ["parallel"]} outs(%e : tensor<2xf32>) {
  ^bb0(%o: f32):
    linalg.yield %one : f32
  } -> tensor<2xf32>
  %f = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]}
      ins(%i : tensor<4xi64>) outs(%f : tensor<4xf32>) {
  ^bb0(%p: i64, %o: f32):
    %k = arith.index_cast %p : i64 to index
    %s = tensor.extract %fill[%k] : tensor<2xf32>
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A region of other passes reads slices and fills through clones of its own; a reshape may stay.
// CHECK-LABEL: func.func @formed_before
// CHECK: %[[FLAT:.+]] = tensor.collapse_shape
// CHECK-NOT: tensor.extract_slice
// CHECK: "xyntra.fused"() ({
// CHECK-DAG: %[[PART:.+]] = tensor.extract_slice %[[FLAT]][16] [16] [1]
// CHECK-DAG: tensor.expand_shape %[[PART]]
// CHECK-DAG: linalg.generic {{.+}} outs(
// CHECK: tensor.insert_slice
// CHECK: tensor.insert_slice
// CHECK: tensor.insert_slice
// CHECK: kind = "data"
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @formed_before(%x: tensor<4x8xf32>, %y: tensor<2x8xf32>) -> tensor<6x8xf32> {
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  %part = tensor.extract_slice %flat[16] [16] [1] : tensor<32xf32> to tensor<16xf32>
  %rows = tensor.expand_shape %part [[0, 1]] output_shape [2, 8] : tensor<16xf32> into tensor<2x8xf32>
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<2x8xf32>
  %fill = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<2x8xf32>) {
  ^bb0(%o: f32):
    linalg.yield %one : f32
  } -> tensor<2x8xf32>
  %0 = "xyntra.fused"() ({
    %to = tensor.empty() : tensor<6x8xf32>
    %1 = tensor.insert_slice %rows into %to[0, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<6x8xf32>
    %2 = tensor.insert_slice %y into %1[2, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<6x8xf32>
    %3 = tensor.insert_slice %fill into %2[4, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<6x8xf32>
    "xyntra.yield"(%3) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<6x8xf32>) -> ()
  }) {kind = "data", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}

// What a call takes, and a function returns, is a buffer: a part of one is copied.
// CHECK-LABEL: func.func @called
// CHECK: %[[COPY:.+]] = "xyntra.fused"() ({
// CHECK: tensor.extract_slice
// CHECK: kind = "data"
// CHECK: call @double(%[[COPY]])
// CHECK: %[[OTHER:.+]] = "xyntra.fused"() ({
// CHECK: tensor.extract_slice
// CHECK: kind = "data"
// CHECK: return %{{.+}}, %[[OTHER]]
func.func private @double(tensor<4xf32>) -> tensor<4xf32>
func.func @called(%x: tensor<8xf32>) -> (tensor<4xf32>, tensor<2xf32>) {
  %0 = tensor.extract_slice %x[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %1 = func.call @double(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = tensor.extract_slice %1[1] [2] [1] : tensor<4xf32> to tensor<2xf32>
  return %1, %2 : tensor<4xf32>, tensor<2xf32>
}
