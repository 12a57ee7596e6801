// RUN: %xyntra-opt %s --hoist-parts | FileCheck %s
// RUN: %xyntra-opt %s --hoist-parts --outline-kernels | FileCheck %s --check-prefix=KERNELS

// Four steps read a tensor each at its own place: their slices move out, and they are one kernel.
// CHECK-LABEL: func.func @steps
// CHECK: %[[FLAT:.+]] = tensor.collapse_shape %arg0 {{\[\[}}0, 1, 2]]
// CHECK-NEXT: %[[FIRST:.+]] = tensor.extract_slice %[[FLAT]][0] [16] [1]
// CHECK-NEXT: %[[SHAPE:.+]] = tensor.expand_shape %[[FIRST]]
// CHECK-NEXT: xyntra.fused
// CHECK-NEXT: tensor.collapse_shape %[[SHAPE]]
// CHECK: tensor.extract_slice %{{.+}}[48] [16] [1]
// KERNELS: func.func private @[[STEP:row_[0-9a-f]+]](%{{.+}}: tensor<1x4x4xf32>)
// KERNELS-NOT: func.func private
// KERNELS-LABEL: func.func @steps
// KERNELS-COUNT-4: call @[[STEP]](
func.func @steps(%x: tensor<4x4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
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

// The reshapes that they read through go with them.
// CHECK-LABEL: func.func @reshaped
// CHECK: tensor.extract_slice %{{.+}}[0] [16] [1]
// CHECK: xyntra.fused
// CHECK-NEXT: tensor.collapse_shape
// CHECK: tensor.extract_slice %{{.+}}[16] [16] [1]
func.func @reshaped(%x: tensor<4x16xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = "xyntra.fused"() ({
    %e0 = tensor.expand_shape %x [[0], [1, 2]] output_shape [4, 4, 4] : tensor<4x16xf32> into tensor<4x4x4xf32>
    %s0 = tensor.extract_slice %e0[0, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32>
    %c0 = tensor.collapse_shape %s0 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32>
    %y0 = "xyntra.softmax"(%c0) {axis = 0} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%y0) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  %1 = "xyntra.fused"() ({
    %e1 = tensor.expand_shape %x [[0], [1, 2]] output_shape [4, 4, 4] : tensor<4x16xf32> into tensor<4x4x4xf32>
    %s1 = tensor.extract_slice %e1[1, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32>
    %c1 = tensor.collapse_shape %s1 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32>
    %y1 = "xyntra.softmax"(%c1) {axis = 0} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%y1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  %2 = "xyntra.fused"() ({
    %e2 = tensor.expand_shape %x [[0], [1, 2]] output_shape [4, 4, 4] : tensor<4x16xf32> into tensor<4x4x4xf32>
    %s2 = tensor.extract_slice %e2[2, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32>
    %c2 = tensor.collapse_shape %s2 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32>
    %y2 = "xyntra.softmax"(%c2) {axis = 0} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%y2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  %3 = "xyntra.fused"() ({
    %e3 = tensor.expand_shape %x [[0], [1, 2]] output_shape [4, 4, 4] : tensor<4x16xf32> into tensor<4x4x4xf32>
    %s3 = tensor.extract_slice %e3[3, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4x4xf32> to tensor<1x4x4xf32>
    %c3 = tensor.collapse_shape %s3 [[0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32>
    %y3 = "xyntra.softmax"(%c3) {axis = 0} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "xyntra.yield"(%y3) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x4xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x4xf32>
  return %0, %1, %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// Rows of some of the columns lie side by side, though these columns do not.
// CHECK-LABEL: func.func @columns
// CHECK: tensor.extract_slice %{{.+}}[16] [16] [1]
// CHECK: xyntra.fused
// CHECK-NEXT: xyntra.softmax
// CHECK: tensor.extract_slice %{{.+}}[48] [16] [1]
func.func @columns(%x: tensor<4x32xf32>) -> (tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>) {
  %0 = "xyntra.fused"() ({
    %h0 = tensor.extract_slice %x[0, 16] [4, 16] [1, 1] : tensor<4x32xf32> to tensor<4x16xf32>
    %s0 = tensor.extract_slice %h0[0, 0] [1, 16] [1, 1] : tensor<4x16xf32> to tensor<1x16xf32>
    %y0 = "xyntra.softmax"(%s0) {axis = 1} : (tensor<1x16xf32>) -> tensor<1x16xf32>
    "xyntra.yield"(%y0) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1x16xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<1x16xf32>
  %1 = "xyntra.fused"() ({
    %h1 = tensor.extract_slice %x[0, 16] [4, 16] [1, 1] : tensor<4x32xf32> to tensor<4x16xf32>
    %s1 = tensor.extract_slice %h1[1, 0] [1, 16] [1, 1] : tensor<4x16xf32> to tensor<1x16xf32>
    %y1 = "xyntra.softmax"(%s1) {axis = 1} : (tensor<1x16xf32>) -> tensor<1x16xf32>
    "xyntra.yield"(%y1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1x16xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<1x16xf32>
  %2 = "xyntra.fused"() ({
    %h2 = tensor.extract_slice %x[0, 16] [4, 16] [1, 1] : tensor<4x32xf32> to tensor<4x16xf32>
    %s2 = tensor.extract_slice %h2[2, 0] [1, 16] [1, 1] : tensor<4x16xf32> to tensor<1x16xf32>
    %y2 = "xyntra.softmax"(%s2) {axis = 1} : (tensor<1x16xf32>) -> tensor<1x16xf32>
    "xyntra.yield"(%y2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1x16xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<1x16xf32>
  %3 = "xyntra.fused"() ({
    %h3 = tensor.extract_slice %x[0, 16] [4, 16] [1, 1] : tensor<4x32xf32> to tensor<4x16xf32>
    %s3 = tensor.extract_slice %h3[3, 0] [1, 16] [1, 1] : tensor<4x16xf32> to tensor<1x16xf32>
    %y3 = "xyntra.softmax"(%s3) {axis = 1} : (tensor<1x16xf32>) -> tensor<1x16xf32>
    "xyntra.yield"(%y3) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1x16xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<1x16xf32>
  return %0, %1, %2, %3 : tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>
}
