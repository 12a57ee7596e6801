// RUN: %xyntra-opt %s --split-regions | FileCheck %s
// RUN: %xyntra-opt %s --split-regions --check-fusion

#id = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

// The second operation needs elements that the first has not computed yet: it gets a region of its
// own, and why is recorded.
// CHECK: module attributes {xyntra.fallbacks = ["a region of 2 operations from line {{[0-9]+}} was split, because check-fusion refuses it: {{.*}} [misaligned-read]"
// CHECK-LABEL: func.func @transposed_read
// CHECK: %[[FIRST:.+]] = "xyntra.fused"() ({
// CHECK: math.exp
// CHECK: kind = "elementwise"
// CHECK: %[[SECOND:.+]] = "xyntra.fused"() ({
// CHECK: linalg.generic {{.+}} ins(%[[FIRST]] :
// CHECK: arith.negf
// CHECK: kind = "elementwise"
// CHECK: return %[[SECOND]]
func.func @transposed_read(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = "xyntra.fused"() ({
    %e = tensor.empty() : tensor<8x8xf32>
    %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = math.exp %p : f32
      linalg.yield %s : f32
    } -> tensor<8x8xf32>
    %2 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
        ins(%1 : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.negf %p : f32
      linalg.yield %s : f32
    } -> tensor<8x8xf32>
    "xyntra.yield"(%2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8x8xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// Both parts of what is split are given where both are read.
// CHECK-LABEL: func.func @two_results
// CHECK: %[[A:.+]] = "xyntra.fused"() ({
// CHECK: xyntra.softmax
// CHECK: kind = "row"
// CHECK: %[[B:.+]] = "xyntra.fused"() ({
// CHECK: xyntra.softmax"(%[[A]])
// CHECK: return %[[A]], %[[B]]
func.func @two_results(%x: tensor<800x800xf32>) -> (tensor<800x800xf32>, tensor<800x800xf32>) {
  %0:2 = "xyntra.fused"() ({
    %1 = "xyntra.softmax"(%x) {axis = 1} : (tensor<800x800xf32>) -> tensor<800x800xf32>
    %2 = "xyntra.softmax"(%1) {axis = 0} : (tensor<800x800xf32>) -> tensor<800x800xf32>
    "xyntra.yield"(%1, %2) {operandSegmentSizes = array<i32: 2, 0, 0, 0, 0, 0, 0, 0>} : (tensor<800x800xf32>, tensor<800x800xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 2, 0, 0, 0, 0, 0, 0, 0>} : () -> (tensor<800x800xf32>, tensor<800x800xf32>)
  return %0#0, %0#1 : tensor<800x800xf32>, tensor<800x800xf32>
}

// A single operation of a kind that cannot hold it gets the kind that holds everything.
// CHECK-LABEL: func.func @wrong_kind
// CHECK: xyntra.softmax
// CHECK: kind = "generic"
func.func @wrong_kind(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = "xyntra.fused"() ({
    %1 = "xyntra.softmax"(%x) {axis = 1} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8x8xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
