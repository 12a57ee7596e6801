// RUN: %xyntra-opt %s --schedule-nests --blocked-attention --canonicalize --cse | FileCheck %s --implicit-check-not=linalg.generic

// Two heads of 24 queries, 40 keys of size 16: keys fill five panels of 8, where of panels of 16 the
// last would be ragged. There is one chunk, and nothing to rescale.
// CHECK-LABEL: func.func @one_chunk(
// CHECK-SAME: %[[X:.+]]: memref<40x96xf32>, %[[BIAS:.+]]: memref<40xf32>, %[[OUT:.+]]: memref<24x32xf32>)
// CHECK: scf.for {{.+}} = %c0 to %c2
// CHECK-COUNT-2: memref.alloc() : memref<640xf32>
// Blocks of keys are scaled and turned.
// CHECK: arith.mulf {{.+}} : vector<8xf32>
// CHECK: vector.shuffle
// CHECK: memref.alloc() : memref<960xf32>
// Scores, in tiles of 12 rows and a vector.
// CHECK: scf.for {{.+}} iter_args({{.+}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// The bias is the same for all queries: it is read before the rows.
// CHECK: memref.load %{{.*}}
// CHECK: arith.cmpf ogt, {{.+}} : vector<8xf32>
// CHECK: math.fma {{.+}} : vector<8xf32>
// CHECK: scf.for {{.+}} iter_args({{.+}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// Rows are divided in registers, and written where they belong.
// CHECK: arith.divf
// CHECK: %[[QUOTIENT:.+]] = arith.mulf
// CHECK: vector.store %{{.+}}, %[[FLAT:.+]][%{{.+}}] : memref<768xf32>
// CHECK: } {xyntra.parallel}
func.func @one_chunk(%x: memref<40x96xf32>, %bias: memref<40xf32>, %out: memref<24x32xf32>) {
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d2, d3)>,
      affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d4, d5)>,
      affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d6, d7)>,
      affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d8)>,
      affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction"]}
    ins(%x, %x, %x, %bias : memref<40x96xf32>, memref<40x96xf32>, memref<40x96xf32>, memref<40xf32>)
    outs(%out : memref<24x32xf32>)
    attrs = {xyntra.attention = {scale = 0.25 : f32, causal = false, masked_rows = "nan",
      sizes = array<i64: 1, 2, 24, 40, 16, 16>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>,
      indexing_maps = [affine_map<(b, h, s, t, d, e) -> (s, h * 16 + d)>, affine_map<(b, h, s, t, d, e) -> (t, h * 16 + d + 32)>,
        affine_map<(b, h, s, t, d, e) -> (t, h * 16 + e + 64)>, affine_map<(b, h, s, t, d, e) -> (t)>,
        affine_map<(b, h, s, t, d, e) -> (s, h * 16 + e)>]}} {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// 600 keys are five chunks of 120. A block of queries first meets the chunks that all of them see
// all of, then, with masks, those that some see some of; the others are left out. Few heads have
// their keys packed first, so that blocks of queries are independent.
// CHECK-LABEL: func.func @chunks(
// CHECK: } {xyntra.parallel}


// CHECK: scf.for
// CHECK-NOT: arith.cmpi {{.+}} : vector<8xi32>
// A larger maximum rescales the total and the sums of a row.
// CHECK: %[[RISES:.+]] = arith.cmpf ogt, {{.+}} : f32
// CHECK: scf.if %[[RISES]]
// CHECK: arith.mulf
// CHECK: arith.mulf
// CHECK: %[[REST:.+]] = arith.subi
// CHECK: scf.for {{.+}} = %c0 to %[[REST]]
// CHECK: arith.cmpi {{.+}} : vector<8xi32>
// CHECK: } {xyntra.parallel}
func.func @chunks(%q: memref<2x600x8xf32>, %k: memref<2x600x8xf32>, %v: memref<2x600x8xf32>, %out: memref<2x600x8xf32>) {
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11) -> (d3, d4, d5)>,
      affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11) -> (d6, d7, d8)>,
      affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11) -> (d9, d10, d11)>,
      affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11) -> (d0, d1, d2)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction"]}
    ins(%q, %k, %v : memref<2x600x8xf32>, memref<2x600x8xf32>, memref<2x600x8xf32>) outs(%out : memref<2x600x8xf32>)
    attrs = {xyntra.attention = {scale = 1.0 : f32, causal = true, masked_rows = "nan",
      sizes = array<i64: 1, 2, 600, 600, 8, 8>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>,
      indexing_maps = [affine_map<(b, h, s, t, d, e) -> (h, s, d)>, affine_map<(b, h, s, t, d, e) -> (h, t, d)>,
        affine_map<(b, h, s, t, d, e) -> (h, t, e)>, affine_map<(b, h, s, t, d, e) -> (h, s, e)>]}} {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}
