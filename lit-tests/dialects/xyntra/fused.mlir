// RUN: %xyntra-opt %s | %xyntra-opt | FileCheck %s
// RUN: %xyntra-opt %s --canonicalize | FileCheck %s --check-prefix=CANON

#rows = affine_map<(d0, d1) -> (d0, d1)>

// Inputs are captured, results may be static or dynamic.
// CHECK-LABEL: func.func @captures
func.func @captures(%x: tensor<2x?xf32>, %y: tensor<2x?xf32>, %out: tensor<2x?xf32>) -> tensor<2x?xf32> {
  // CHECK: %[[F:.+]] = "xyntra.fused"() ({
  // CHECK: linalg.generic
  // CHECK: "xyntra.yield"
  // CHECK: }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<2x?xf32>
  %0 = "xyntra.fused"() ({
    %1 = linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel", "parallel"]}
        ins(%x, %y : tensor<2x?xf32>, tensor<2x?xf32>) outs(%out : tensor<2x?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %2 = arith.addf %a, %b : f32
      linalg.yield %2 : f32
    } -> tensor<2x?xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<2x?xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<2x?xf32>
  // CHECK: return %[[F]]
  return %0 : tensor<2x?xf32>
}

// Results of several types.
// CHECK-LABEL: func.func @types
func.func @types(%x: tensor<4xf32>, %n: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi1>) {
  // CHECK: kind = "row", resultSegmentSizes = array<i32: 2, 1, 0, 0, 0, 0, 0, 0>
  %0:3 = "xyntra.fused"() ({
    %1 = "xyntra.softmax"(%x) {axis = 0} : (tensor<4xf32>) -> tensor<4xf32>
    "xyntra.yield"(%1, %x, %n) {operandSegmentSizes = array<i32: 2, 1, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xi1>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 2, 1, 0, 0, 0, 0, 0, 0>}
      : () -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi1>)
  return %0#0, %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xi1>
}

// The region is not isolated: canonicalization moves constants out of it.
// CANON-LABEL: func.func @constants
func.func @constants() -> tensor<f32> {
  // CANON: %[[C:.+]] = arith.constant
  // CANON: "xyntra.fused"() ({
  // CANON-NOT: arith.constant
  // CANON: "xyntra.yield"(%[[C]])
  %0 = "xyntra.fused"() ({
    %1 = arith.constant dense<1.0> : tensor<f32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<f32>) -> ()
  }) {kind = "generic", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<f32>
  return %0 : tensor<f32>
}

// Loops and index arithmetic are allowed inside.
// CHECK-LABEL: func.func @loops
func.func @loops(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: scf.for
  %0 = "xyntra.fused"() ({
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %four = arith.constant 4 : index
    %1 = scf.for %i = %zero to %four step %one iter_args(%t = %x) -> tensor<4xf32> {
      %at = affine.apply affine_map<(d0) -> (3 - d0)>(%i)
      %v = tensor.extract %x[%at] : tensor<4xf32>
      %2 = tensor.insert %v into %t[%i] : tensor<4xf32>
      scf.yield %2 : tensor<4xf32>
    }
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  }) {kind = "generic", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
