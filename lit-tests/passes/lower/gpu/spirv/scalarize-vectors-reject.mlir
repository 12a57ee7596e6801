// RUN: not %xyntra-opt %s --scalarize-vectors --split-input-file 2>&1 | FileCheck %s

// CHECK: vector.reduction is not known to work on single elements
func.func @unknown(%x: vector<4xf32>) -> f32 {
  %0 = vector.broadcast %x : vector<4xf32> to vector<4xf32>
  %1 = vector.reduction <add>, %0 : vector<4xf32> into f32
  return %1 : f32
}

// -----

// CHECK: vector<2x4xf32> has not one dimension
func.func @of_two_dimensions(%x: vector<2x4xf32>) -> vector<2x4xf32> {
  %0 = arith.addf %x, %x : vector<2x4xf32>
  return %0 : vector<2x4xf32>
}
