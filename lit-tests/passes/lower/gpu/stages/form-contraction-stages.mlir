// RUN: %xyntra-opt %s --form-contraction-stages --split-input-file | FileCheck %s

#mn = affine_map<(m, n) -> (m, n)>
#n = affine_map<(m, n) -> (n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// A product for tiles becomes a stage, with the fill before it and the bias behind it. The contraction is
// marked: it is what the stage is about.
// CHECK-LABEL: func.func @with_bias(
// CHECK: memref.alloc() : memref<64x64xf32>
// CHECK-NEXT: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic {{.+}} iterator_types = ["parallel", "parallel"]} outs(
// CHECK: linalg.generic {{.+}} "reduction"]} {{.+}} attrs = {xyntra.anchor} {
// CHECK: arith.mulf
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK: "xyntra.yield"()
// CHECK-NEXT: }) : () -> ()
// CHECK-NEXT: return
func.func @with_bias(%a: memref<64x512xf16>, %b: memref<512x64xf16>, %bias: memref<64xf32>, %y: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<64x64xf32>
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%t : memref<64x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x512xf16>, memref<512x64xf16>) outs(%t : memref<64x64xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#mn, #n, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%t, %bias : memref<64x64xf32>, memref<64xf32>) outs(%y : memref<64x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// What adds up two products becomes the epilogue of the first one, which moves behind the second for
// that, as nothing in between has to do with it.
// CHECK-LABEL: func.func @two_products(
// CHECK-SAME: [[A:%[a-z0-9]+]]: memref<64x512xf16>, [[B:%[a-z0-9]+]]: memref<512x64xf16>, [[C:%[a-z0-9]+]]: memref<512x64xf16>
// CHECK: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic
// CHECK: linalg.generic {{.+}} ins([[A]], [[C]] : {{.+}} attrs = {xyntra.anchor}
// CHECK-NOT: linalg.generic
// CHECK: "xyntra.yield"()
// CHECK: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic
// CHECK: linalg.generic {{.+}} ins([[A]], [[B]] : {{.+}} attrs = {xyntra.anchor}
// CHECK: linalg.generic
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.addf
// CHECK: "xyntra.yield"()
// CHECK-NEXT: }) : () -> ()
// CHECK-NEXT: return
func.func @two_products(%a: memref<64x512xf16>, %b: memref<512x64xf16>, %c: memref<512x64xf16>, %y: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<64x64xf32>
  %u = memref.alloc() : memref<64x64xf32>
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%t : memref<64x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%u : memref<64x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x512xf16>, memref<512x64xf16>) outs(%t : memref<64x64xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %c : memref<64x512xf16>, memref<512x64xf16>) outs(%u : memref<64x64xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#mn, #mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%t, %u : memref<64x64xf32>, memref<64x64xf32>) outs(%y : memref<64x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  }
  return
}
