// RUN: %xyntra-opt %s --form-kernels | FileCheck %s

#line = affine_map<(d0) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>

// Views and constants need no kernel.
// CHECK-LABEL: func.func @views
// CHECK-NOT: xyntra.fused
// CHECK: return
func.func @views(%x: tensor<4x8xf32>) -> (tensor<32xf32>, tensor<2xf32>) {
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %0, %c : tensor<32xf32>, tensor<2xf32>
}

// Two accumulators that start with the same fill get one each: a shared one would be copied.
// CHECK-LABEL: func.func @shared_fill
// CHECK: %[[SUM:.+]] = "xyntra.fused"() ({
// CHECK: linalg.generic {{.+}} outs(
// CHECK: arith.addf
// CHECK: kind = "row"
// CHECK: %[[PRODUCT:.+]] = "xyntra.fused"() ({
// CHECK: linalg.generic {{.+}} outs(
// CHECK: arith.maximumf
// CHECK: kind = "row"
// CHECK: return %[[SUM]], %[[PRODUCT]]
func.func @shared_fill(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %init = linalg.generic {indexing_maps = [#line], iterator_types = ["parallel"]} outs(%e : tensor<4xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.maximumf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// What is in a region already stays as it is.
// CHECK-LABEL: func.func @formed
// CHECK-COUNT-1: xyntra.fused
// CHECK: xyntra.softmax
// CHECK-NOT: xyntra.fused
// CHECK: return
func.func @formed(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = "xyntra.fused"() ({
    %1 = "xyntra.softmax"(%x) {axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x8xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// A region reads reshapes of a buffer from around it: they are the same buffer.
// CHECK-LABEL: func.func @reshaped
// CHECK: %[[FLAT:.+]] = tensor.collapse_shape
// CHECK: "xyntra.fused"() ({
// CHECK-NEXT: "xyntra.softmax"(%[[FLAT]])
func.func @reshaped(%x: tensor<4x8xf32>) -> tensor<32xf32> {
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  %0 = "xyntra.fused"() ({
    %1 = "xyntra.softmax"(%flat) {axis = 0} : (tensor<32xf32>) -> tensor<32xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<32xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
