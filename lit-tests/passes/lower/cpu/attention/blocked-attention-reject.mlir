// RUN: %xyntra-opt %s --schedule-nests --blocked-attention --split-input-file --verify-diagnostics | FileCheck %s

// Any other operation is left to other passes.
// CHECK-LABEL: func.func @other
func.func @other(%x: memref<4xf32>, %out: memref<4xf32>) {
  // CHECK: linalg.generic
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    ins(%x : memref<4xf32>) outs(%out : memref<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

func.func @dynamic_layout(%x: memref<4x4xf32, strided<[?, 1]>>, %out: memref<4x4xf32>) {
  // expected-error @below {{attention reads or writes memory whose layout is not static}}
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d2, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d4, d5)>,
      affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d6, d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction"]}
    ins(%x, %x, %x : memref<4x4xf32, strided<[?, 1]>>, memref<4x4xf32, strided<[?, 1]>>, memref<4x4xf32, strided<[?, 1]>>)
    outs(%out : memref<4x4xf32>)
    attrs = {xyntra.attention = {scale = 1.0 : f32, causal = false, masked_rows = "nan",
      sizes = array<i64: 1, 1, 4, 4, 4, 4>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>,
      indexing_maps = [affine_map<(b, h, s, t, d, e) -> (s, d)>, affine_map<(b, h, s, t, d, e) -> (t, d)>,
        affine_map<(b, h, s, t, d, e) -> (t, e)>, affine_map<(b, h, s, t, d, e) -> (s, e)>]}} {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}
