// RUN: %xyntra-opt %s --hoist-parts | FileCheck %s

// Three kernels are not worth it.
// CHECK-LABEL: func.func @three
// CHECK-NOT: extract_slice
// CHECK: "xyntra.fused"() ({
// CHECK-NEXT: tensor.extract_slice
func.func @three(%x: tensor<4x4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = "xyntra.fused"() ({
    %s0 = tensor.extract_slice %x[0, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32>
    %c0 = tensor.collapse_shape %s0 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32>
    %y0 = "xyntra.softmax"(%c0) {axis = 1} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%y0) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  %1 = "xyntra.fused"() ({
    %s1 = tensor.extract_slice %x[1, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32>
    %c1 = tensor.collapse_shape %s1 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32>
    %y1 = "xyntra.softmax"(%c1) {axis = 1} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%y1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  %2 = "xyntra.fused"() ({
    %s2 = tensor.extract_slice %x[2, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32>
    %c2 = tensor.collapse_shape %s2 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32>
    %y2 = "xyntra.softmax"(%c2) {axis = 1} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%y2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// What differs in more than places stays as it is.
// CHECK-LABEL: func.func @other_work
// CHECK-NOT: extract_slice
// CHECK: "xyntra.fused"() ({
// CHECK-NEXT: tensor.extract_slice
func.func @other_work(%x: tensor<4x4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = "xyntra.fused"() ({
    %s0 = tensor.extract_slice %x[0, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32>
    %c0 = tensor.collapse_shape %s0 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32>
    %y0 = "xyntra.softmax"(%c0) {axis = 0} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%y0) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  %1 = "xyntra.fused"() ({
    %s1 = tensor.extract_slice %x[1, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32>
    %c1 = tensor.collapse_shape %s1 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32>
    %y1 = "xyntra.softmax"(%c1) {axis = 1} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%y1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  %2 = "xyntra.fused"() ({
    %s2 = tensor.extract_slice %x[2, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32>
    %c2 = tensor.collapse_shape %s2 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32>
    %y2 = "xyntra.softmax"(%c2) {axis = 0} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%y2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  %3 = "xyntra.fused"() ({
    %s3 = tensor.extract_slice %x[3, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32>
    %c3 = tensor.collapse_shape %s3 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32>
    %y3 = "xyntra.softmax"(%c3) {axis = 1} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%y3) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  return %0, %1, %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// Columns lie apart from one another.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: extract_slice
// CHECK: "xyntra.fused"() ({
// CHECK-NEXT: tensor.extract_slice
func.func @apart(%x: tensor<4x64xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = "xyntra.fused"() ({
    %s0 = tensor.extract_slice %x[0, 0] [4, 4] [1, 1] : tensor<4x64xf32> to tensor<4x4xf32>
    %y0 = "xyntra.softmax"(%s0) {axis = 1} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%y0) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  %1 = "xyntra.fused"() ({
    %s1 = tensor.extract_slice %x[0, 16] [4, 4] [1, 1] : tensor<4x64xf32> to tensor<4x4xf32>
    %y1 = "xyntra.softmax"(%s1) {axis = 1} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%y1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  %2 = "xyntra.fused"() ({
    %s2 = tensor.extract_slice %x[0, 32] [4, 4] [1, 1] : tensor<4x64xf32> to tensor<4x4xf32>
    %y2 = "xyntra.softmax"(%s2) {axis = 1} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%y2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  %3 = "xyntra.fused"() ({
    %s3 = tensor.extract_slice %x[0, 48] [4, 4] [1, 1] : tensor<4x64xf32> to tensor<4x4xf32>
    %y3 = "xyntra.softmax"(%s3) {axis = 1} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%y3) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  return %0, %1, %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// Parts of 48 bytes do not begin at multiples of 64.
// CHECK-LABEL: func.func @between
// CHECK-NOT: extract_slice
// CHECK: "xyntra.fused"() ({
// CHECK-NEXT: tensor.extract_slice
func.func @between(%x: tensor<4x3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  %0 = "xyntra.fused"() ({
    %s0 = tensor.extract_slice %x[0, 0, 0] [1, 3, 4] [1, 1, 1] : tensor<4x3x4xf32> to tensor<1x3x4xf32>
    %c0 = tensor.collapse_shape %s0 [[0, 1], [2]] : tensor<1x3x4xf32> into tensor<3x4xf32>
    %y0 = "xyntra.softmax"(%c0) {axis = 1} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    "xyntra.yield"(%y0) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<3x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<3x4xf32>
  %1 = "xyntra.fused"() ({
    %s1 = tensor.extract_slice %x[1, 0, 0] [1, 3, 4] [1, 1, 1] : tensor<4x3x4xf32> to tensor<1x3x4xf32>
    %c1 = tensor.collapse_shape %s1 [[0, 1], [2]] : tensor<1x3x4xf32> into tensor<3x4xf32>
    %y1 = "xyntra.softmax"(%c1) {axis = 1} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    "xyntra.yield"(%y1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<3x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<3x4xf32>
  %2 = "xyntra.fused"() ({
    %s2 = tensor.extract_slice %x[2, 0, 0] [1, 3, 4] [1, 1, 1] : tensor<4x3x4xf32> to tensor<1x3x4xf32>
    %c2 = tensor.collapse_shape %s2 [[0, 1], [2]] : tensor<1x3x4xf32> into tensor<3x4xf32>
    %y2 = "xyntra.softmax"(%c2) {axis = 1} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    "xyntra.yield"(%y2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<3x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<3x4xf32>
  %3 = "xyntra.fused"() ({
    %s3 = tensor.extract_slice %x[3, 0, 0] [1, 3, 4] [1, 1, 1] : tensor<4x3x4xf32> to tensor<1x3x4xf32>
    %c3 = tensor.collapse_shape %s3 [[0, 1], [2]] : tensor<1x3x4xf32> into tensor<3x4xf32>
    %y3 = "xyntra.softmax"(%c3) {axis = 1} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    "xyntra.yield"(%y3) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<3x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<3x4xf32>
  return %0, %1, %2, %3 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}

// Weights are brought into another order when the model is loaded, each part by itself.
// CHECK-LABEL: func.func @weights
// CHECK-NOT: extract_slice
// CHECK: "xyntra.fused"() ({
// CHECK-NEXT: tensor.extract_slice
func.func @weights(%x: tensor<4x4x4xf32> {xyntra.parameter = "w"}) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = "xyntra.fused"() ({
    %s0 = tensor.extract_slice %x[0, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32>
    %c0 = tensor.collapse_shape %s0 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32>
    %y0 = "xyntra.softmax"(%c0) {axis = 1} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%y0) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  %1 = "xyntra.fused"() ({
    %s1 = tensor.extract_slice %x[1, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32>
    %c1 = tensor.collapse_shape %s1 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32>
    %y1 = "xyntra.softmax"(%c1) {axis = 1} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%y1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  %2 = "xyntra.fused"() ({
    %s2 = tensor.extract_slice %x[2, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32>
    %c2 = tensor.collapse_shape %s2 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32>
    %y2 = "xyntra.softmax"(%c2) {axis = 1} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%y2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  %3 = "xyntra.fused"() ({
    %s3 = tensor.extract_slice %x[3, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32>
    %c3 = tensor.collapse_shape %s3 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32>
    %y3 = "xyntra.softmax"(%c3) {axis = 1} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%y3) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  return %0, %1, %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
