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

// The operation that stands for an attention becomes a stage, with what computes its mask from bytes:
// threads then compute that where they need it. The mask itself is never stored.
// CHECK-LABEL: func.func @with_mask(
// CHECK: memref.alloc() : memref<2x1x1x64xf16>
// CHECK-NEXT: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic {{.+}} ins({{%.+}} : memref<2x64xi8>)
// CHECK: arith.select
// CHECK: linalg.generic {{.+}} attrs = {xyntra.attention = {
// CHECK: "xyntra.yield"()
// CHECK-NEXT: }) : () -> ()
// CHECK-NEXT: return
func.func @with_mask(%q: memref<2x4x64x32xf16>, %k: memref<2x4x64x32xf16>, %v: memref<2x4x64x32xf16>, %m: memref<2x64xi8>, %y: memref<2x4x64x32xf16>) {
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

// A mask that is given to the kernel is read as it is, and only the attention is in the stage.
// CHECK-LABEL: func.func @mask_is_given(
// CHECK-NEXT: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic {{.+}} attrs = {xyntra.attention = {
// CHECK-NOT: linalg.generic
// CHECK: "xyntra.yield"()
// CHECK-NEXT: }) : () -> ()
// CHECK-NEXT: return
func.func @mask_is_given(%q: memref<2x4x64x32xf16>, %k: memref<2x4x64x32xf16>, %v: memref<2x4x64x32xf16>, %bias: memref<2x1x1x64xf16>, %y: memref<2x4x64x32xf16>) {
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
