// RUN: %xyntra-opt %s --form-stages --split-stage-loops --split-input-file | FileCheck %s

#out = affine_map<(h, c) -> (h, c)>
#half = affine_map<(h, c) -> (h, c floordiv 2)>

// Contiguous elements of a result that are read at quotients: a thread computes several as it is.
// CHECK-LABEL: func.func @contiguous(
// CHECK-NOT: memref.expand_shape
// CHECK: return
func.func @contiguous(%x: memref<4x8xf32>, %y: memref<4x16xf32>) {
  linalg.generic {indexing_maps = [#half, #out], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<4x8xf32>) outs(%y : memref<4x16xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  return
}

// -----

#out = affine_map<(h, c) -> (h, c)>
#third = affine_map<(h, c) -> (h floordiv 3, c)>

// A divisor that leaves a rest.
// CHECK-LABEL: func.func @ragged(
// CHECK-NOT: memref.expand_shape
// CHECK: return
func.func @ragged(%x: memref<3x8xf32>, %y: memref<8x8xf32>) {
  linalg.generic {indexing_maps = [#third, #out], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<3x8xf32>) outs(%y : memref<8x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  return
}

// -----

#in = affine_map<(h, r) -> (h floordiv 2, r)>
#sum = affine_map<(h, r) -> (h)>

// A reduction.
// CHECK-LABEL: func.func @reduced(
// CHECK-NOT: memref.expand_shape
// CHECK: return
func.func @reduced(%x: memref<3x8xf32>, %y: memref<6xf32>) {
  linalg.generic {indexing_maps = [#in, #sum], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<3x8xf32>) outs(%y : memref<6xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  }
  return
}
