// RUN: %xyntra-opt %s --form-attention-stages --split-input-file | FileCheck %s

#in0 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d4, d5, d6, d7)>
#in1 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d8, d9, d10, d11)>
#in2 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d12, d13, d14, d15)>
#in3 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d16, d17, d18, d19)>
#out = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d0, d1, d2, d3)>
#q = affine_map<(z, h, m, n, d, e) -> (z, h, m, d)>
#k = affine_map<(z, h, m, n, d, e) -> (z, h, n, d)>
#v = affine_map<(z, h, m, n, d, e) -> (z, h, n, e)>
#mask = affine_map<(z, h, m, n, d, e) -> (z, 0, 0, n)>
#y = affine_map<(z, h, m, n, d, e) -> (z, h, m, e)>
#zhmn = affine_map<(z, h, m, n) -> (z, h, m, n)>
#zn = affine_map<(z, h, m, n) -> (z, n)>

// A mask that somebody else reads, too, has to be stored: what computes it stays outside.
// CHECK-LABEL: func.func @mask_is_read_again(
// CHECK-NOT: "xyntra.stage"
// CHECK: linalg.generic
// CHECK: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic {{.+}} attrs = {xyntra.attention = {
// CHECK: "xyntra.yield"()
// CHECK: return
func.func @mask_is_read_again(%q: memref<2x4x64x32xf16>, %k: memref<2x4x64x32xf16>, %v: memref<2x4x64x32xf16>, %m: memref<2x64xi8>, %y: memref<2x4x64x32xf16>, %kept: memref<2x1x1x64xf16>) {
  %bias = memref.alloc() : memref<2x1x1x64xf16>
  linalg.generic {indexing_maps = [#zn, #zhmn], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%m : memref<2x64xi8>) outs(%bias : memref<2x1x1x64xf16>) {
  ^bb0(%p: i8, %o: f16):
    %low = arith.constant -6.0e+4 : f16
    %high = arith.constant 0.0 : f16
    %zero = arith.constant 0 : i8
    %off = arith.cmpi eq, %p, %zero : i8
    %s = arith.select %off, %low, %high : f16
    linalg.yield %s : f16
  }
  linalg.generic {indexing_maps = [#in0, #in1, #in2, #in3, #out],
      iterator_types = ["parallel", "parallel", "parallel", "parallel",
        "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction",
        "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction"]}
      ins(%q, %k, %v, %bias : memref<2x4x64x32xf16>, memref<2x4x64x32xf16>, memref<2x4x64x32xf16>, memref<2x1x1x64xf16>)
      outs(%y : memref<2x4x64x32xf16>) attrs = {xyntra.attention = {causal = false,
        indexing_maps = [#q, #k, #v, #mask, #y], masked_rows = "nan",
        operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>, scale = 0.125 : f32,
        sizes = array<i64: 2, 4, 64, 64, 32, 32>}} {
  ^bb0(%a: f16, %b: f16, %c: f16, %d: f16, %o: f16):
    %s = arith.addf %a, %b : f16
    %t = arith.addf %s, %c : f16
    %u = arith.addf %t, %d : f16
    linalg.yield %u : f16
  }
  memref.copy %bias, %kept : memref<2x1x1x64xf16> to memref<2x1x1x64xf16>
  return
}

// -----

#in0 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d4, d5, d6, d7)>
#in1 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d8, d9, d10, d11)>
#in2 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d12, d13, d14, d15)>
#in3 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d16, d17, d18, d19)>
#out = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d0, d1, d2, d3)>
#q = affine_map<(z, h, m, n, d, e) -> (z, h, m, d)>
#k = affine_map<(z, h, m, n, d, e) -> (z, h, n, d)>
#v = affine_map<(z, h, m, n, d, e) -> (z, h, n, e)>
#mask = affine_map<(z, h, m, n, d, e) -> (z, 0, 0, n)>
#y = affine_map<(z, h, m, n, d, e) -> (z, h, m, e)>
#zhmn = affine_map<(z, h, m, n) -> (z, h, m, n)>
#zn = affine_map<(z, h, m, n) -> (z, n)>

// A mask that is a result of the kernel has to be stored as well.
// CHECK-LABEL: func.func @mask_is_a_result(
// CHECK-NOT: "xyntra.stage"
// CHECK: linalg.generic
// CHECK: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic {{.+}} attrs = {xyntra.attention = {
// CHECK: "xyntra.yield"()
// CHECK: return
func.func @mask_is_a_result(%q: memref<2x4x64x32xf16>, %k: memref<2x4x64x32xf16>, %v: memref<2x4x64x32xf16>, %m: memref<2x64xi8>, %y: memref<2x4x64x32xf16>, %bias: memref<2x1x1x64xf16>) {
  linalg.generic {indexing_maps = [#zn, #zhmn], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%m : memref<2x64xi8>) outs(%bias : memref<2x1x1x64xf16>) {
  ^bb0(%p: i8, %o: f16):
    %low = arith.constant -6.0e+4 : f16
    %high = arith.constant 0.0 : f16
    %zero = arith.constant 0 : i8
    %off = arith.cmpi eq, %p, %zero : i8
    %s = arith.select %off, %low, %high : f16
    linalg.yield %s : f16
  }
  linalg.generic {indexing_maps = [#in0, #in1, #in2, #in3, #out],
      iterator_types = ["parallel", "parallel", "parallel", "parallel",
        "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction",
        "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction"]}
      ins(%q, %k, %v, %bias : memref<2x4x64x32xf16>, memref<2x4x64x32xf16>, memref<2x4x64x32xf16>, memref<2x1x1x64xf16>)
      outs(%y : memref<2x4x64x32xf16>) attrs = {xyntra.attention = {causal = false,
        indexing_maps = [#q, #k, #v, #mask, #y], masked_rows = "nan",
        operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>, scale = 0.125 : f32,
        sizes = array<i64: 2, 4, 64, 64, 32, 32>}} {
  ^bb0(%a: f16, %b: f16, %c: f16, %d: f16, %o: f16):
    %s = arith.addf %a, %b : f16
    %t = arith.addf %s, %c : f16
    %u = arith.addf %t, %d : f16
    linalg.yield %u : f16
  }
  return
}

// -----

#in0 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d4, d5, d6, d7)>
#in1 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d8, d9, d10, d11)>
#in2 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d12, d13, d14, d15)>
#in3 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d16, d17, d18, d19)>
#out = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d0, d1, d2, d3)>
#q = affine_map<(z, h, m, n, d, e) -> (z, h, m, d)>
#k = affine_map<(z, h, m, n, d, e) -> (z, h, n, d)>
#v = affine_map<(z, h, m, n, d, e) -> (z, h, n, e)>
#mask = affine_map<(z, h, m, n, d, e) -> (z, 0, 0, n)>
#y = affine_map<(z, h, m, n, d, e) -> (z, h, m, e)>
#zhmn = affine_map<(z, h, m, n) -> (z, h, m, n)>
#zn = affine_map<(z, h, m, n) -> (z, n)>
#mn = affine_map<(m, n) -> (m, n)>

// What the mask is made of is overwritten before the attention.
// CHECK-LABEL: func.func @bytes_are_overwritten(
// CHECK-NOT: "xyntra.stage"
// CHECK-COUNT-2: linalg.generic
// CHECK: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic {{.+}} attrs = {xyntra.attention = {
// CHECK: "xyntra.yield"()
// CHECK: return
func.func @bytes_are_overwritten(%q: memref<2x4x64x32xf16>, %k: memref<2x4x64x32xf16>, %v: memref<2x4x64x32xf16>, %m: memref<2x64xi8>, %y: memref<2x4x64x32xf16>) {
  %none = arith.constant 0 : i8
  %bias = memref.alloc() : memref<2x1x1x64xf16>
  linalg.generic {indexing_maps = [#zn, #zhmn], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%m : memref<2x64xi8>) outs(%bias : memref<2x1x1x64xf16>) {
  ^bb0(%p: i8, %o: f16):
    %low = arith.constant -6.0e+4 : f16
    %high = arith.constant 0.0 : f16
    %zero = arith.constant 0 : i8
    %off = arith.cmpi eq, %p, %zero : i8
    %s = arith.select %off, %low, %high : f16
    linalg.yield %s : f16
  }
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]} outs(%m : memref<2x64xi8>) {
  ^bb0(%o: i8):
    linalg.yield %none : i8
  }
  linalg.generic {indexing_maps = [#in0, #in1, #in2, #in3, #out],
      iterator_types = ["parallel", "parallel", "parallel", "parallel",
        "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction",
        "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction"]}
      ins(%q, %k, %v, %bias : memref<2x4x64x32xf16>, memref<2x4x64x32xf16>, memref<2x4x64x32xf16>, memref<2x1x1x64xf16>)
      outs(%y : memref<2x4x64x32xf16>) attrs = {xyntra.attention = {causal = false,
        indexing_maps = [#q, #k, #v, #mask, #y], masked_rows = "nan",
        operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>, scale = 0.125 : f32,
        sizes = array<i64: 2, 4, 64, 64, 32, 32>}} {
  ^bb0(%a: f16, %b: f16, %c: f16, %d: f16, %o: f16):
    %s = arith.addf %a, %b : f16
    %t = arith.addf %s, %c : f16
    %u = arith.addf %t, %d : f16
    linalg.yield %u : f16
  }
  return
}

// -----

#in0 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d4, d5, d6, d7)>
#in1 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d8, d9, d10, d11)>
#in2 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d12, d13, d14, d15)>
#in3 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d16, d17, d18, d19)>
#out = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d0, d1, d2, d3)>
#q = affine_map<(z, h, m, n, d, e) -> (z, h, m, d)>
#k = affine_map<(z, h, m, n, d, e) -> (z, h, n, d)>
#v = affine_map<(z, h, m, n, d, e) -> (z, h, n, e)>
#mask = affine_map<(z, h, m, n, d, e) -> (z, 0, 0, n)>
#y = affine_map<(z, h, m, n, d, e) -> (z, h, m, e)>
#zhmn = affine_map<(z, h, m, n) -> (z, h, m, n)>
#zn = affine_map<(z, h, m, n) -> (z, n)>

// Likewise where loops of any kind overwrite it.
// CHECK-LABEL: func.func @loops_overwrite_bytes(
// CHECK-NOT: "xyntra.stage"
// CHECK: linalg.generic
// CHECK: scf.for
// CHECK: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic {{.+}} attrs = {xyntra.attention = {
// CHECK: "xyntra.yield"()
// CHECK: return
func.func @loops_overwrite_bytes(%q: memref<2x4x64x32xf16>, %k: memref<2x4x64x32xf16>, %v: memref<2x4x64x32xf16>, %m: memref<2x64xi8>, %y: memref<2x4x64x32xf16>) {
  %none = arith.constant 0 : i8
  %bias = memref.alloc() : memref<2x1x1x64xf16>
  linalg.generic {indexing_maps = [#zn, #zhmn], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%m : memref<2x64xi8>) outs(%bias : memref<2x1x1x64xf16>) {
  ^bb0(%p: i8, %o: f16):
    %low = arith.constant -6.0e+4 : f16
    %high = arith.constant 0.0 : f16
    %zero = arith.constant 0 : i8
    %off = arith.cmpi eq, %p, %zero : i8
    %s = arith.select %off, %low, %high : f16
    linalg.yield %s : f16
  }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    memref.store %none, %m[%c0, %i] : memref<2x64xi8>
  }
  linalg.generic {indexing_maps = [#in0, #in1, #in2, #in3, #out],
      iterator_types = ["parallel", "parallel", "parallel", "parallel",
        "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction",
        "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction"]}
      ins(%q, %k, %v, %bias : memref<2x4x64x32xf16>, memref<2x4x64x32xf16>, memref<2x4x64x32xf16>, memref<2x1x1x64xf16>)
      outs(%y : memref<2x4x64x32xf16>) attrs = {xyntra.attention = {causal = false,
        indexing_maps = [#q, #k, #v, #mask, #y], masked_rows = "nan",
        operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>, scale = 0.125 : f32,
        sizes = array<i64: 2, 4, 64, 64, 32, 32>}} {
  ^bb0(%a: f16, %b: f16, %c: f16, %d: f16, %o: f16):
    %s = arith.addf %a, %b : f16
    %t = arith.addf %s, %c : f16
    %u = arith.addf %t, %d : f16
    linalg.yield %u : f16
  }
  return
}

// -----

#in0 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d4, d5, d6, d7)>
#in1 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d8, d9, d10, d11)>
#in2 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d12, d13, d14, d15)>
#in3 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d16, d17, d18, d19)>
#out = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19) -> (d0, d1, d2, d3)>
#q = affine_map<(z, h, m, n, d, e) -> (z, h, m, d)>
#k = affine_map<(z, h, m, n, d, e) -> (z, h, n, d)>
#v = affine_map<(z, h, m, n, d, e) -> (z, h, n, e)>
#mask = affine_map<(z, h, m, n, d, e) -> (z, 0, 0, n)>
#y = affine_map<(z, h, m, n, d, e) -> (z, h, m, e)>

// Where memory lies is known when the kernel runs: no attention of such is computed by tiles.
// CHECK-LABEL: func.func @unknown_strides(
// CHECK-NOT: xyntra.stage
// CHECK: xyntra.attention
// CHECK-NOT: xyntra.stage
// CHECK: return
func.func @unknown_strides(%q: memref<2x4x64x32xf16>, %k: memref<2x4x64x32xf16>, %v: memref<2x4x64x32xf16>, %bias: memref<2x1x1x64xf16, strided<[?, 1, 1, 1]>>, %y: memref<2x4x64x32xf16>) {
  linalg.generic {indexing_maps = [#in0, #in1, #in2, #in3, #out],
      iterator_types = ["parallel", "parallel", "parallel", "parallel",
        "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction",
        "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction", "reduction"]}
      ins(%q, %k, %v, %bias : memref<2x4x64x32xf16>, memref<2x4x64x32xf16>, memref<2x4x64x32xf16>, memref<2x1x1x64xf16, strided<[?, 1, 1, 1]>>)
      outs(%y : memref<2x4x64x32xf16>) attrs = {xyntra.attention = {causal = false,
        indexing_maps = [#q, #k, #v, #mask, #y], masked_rows = "nan",
        operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>, scale = 0.125 : f32,
        sizes = array<i64: 2, 4, 64, 64, 32, 32>}} {
  ^bb0(%a: f16, %b: f16, %c: f16, %d: f16, %o: f16):
    %s = arith.addf %a, %b : f16
    %t = arith.addf %s, %c : f16
    %u = arith.addf %t, %d : f16
    linalg.yield %u : f16
  }
  return
}

// -----

#i = affine_map<(i) -> (i)>

// A kernel without attention has nothing for this pass.
// CHECK-LABEL: func.func @no_attention(
// CHECK-NOT: xyntra.stage
// CHECK: return
func.func @no_attention(%x: memref<64xf32>, %y: memref<64xf32>) {
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%x : memref<64xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  return
}
