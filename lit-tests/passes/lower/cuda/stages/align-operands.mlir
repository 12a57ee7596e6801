// RUN: %xyntra-opt %s --form-contraction-stages --form-stages --align-operands --split-input-file | FileCheck %s

#mn = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Rows of 1001 and of 513 elements of two bytes do not lie a multiple of 16 bytes apart. Both factors are
// copied to memory with rows of 1008 and 520 elements, one launch each, and the product reads that.
// CHECK-LABEL: func.func @both_factors(
// CHECK-SAME: [[A:%[a-z0-9]+]]: memref<777x1001xf16>, [[B:%[a-z0-9]+]]: memref<1001x513xf16>
// CHECK: memref.alloc() : memref<777x1008xf16>
// CHECK: [[LEFT:%.+]] = memref.subview {{.+}} to memref<777x1001xf16, strided<[1008, 1]>>
// CHECK-NEXT: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic {{.+}} ins([[A]] : {{.+}}) outs([[LEFT]] :
// CHECK-NEXT: ^bb0
// CHECK-NEXT: linalg.yield
// CHECK: "xyntra.yield"()
// CHECK: memref.alloc() : memref<1001x520xf16>
// CHECK: [[RIGHT:%.+]] = memref.subview {{.+}} to memref<1001x513xf16, strided<[520, 1]>>
// CHECK-NEXT: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic {{.+}} ins([[B]] : {{.+}}) outs([[RIGHT]] :
// CHECK: "xyntra.yield"()
// CHECK: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic
// CHECK: linalg.generic {{.+}} ins([[LEFT]], [[RIGHT]] : {{.+}} attrs = {xyntra.anchor}
// CHECK: return
func.func @both_factors(%a: memref<777x1001xf16>, %b: memref<1001x513xf16>, %c: memref<777x513xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%c : memref<777x513xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<777x1001xf16>, memref<1001x513xf16>) outs(%c : memref<777x513xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// A factor whose rows are aligned stays where it is.
// CHECK-LABEL: func.func @one_factor(
// CHECK-SAME: [[A:%[a-z0-9]+]]: memref<777x1024xf16>
// CHECK: memref.alloc() : memref<1024x520xf16>
// CHECK-COUNT-2: "xyntra.stage"() ({
// CHECK: linalg.generic {{.+}} ins([[A]], {{.+}} attrs = {xyntra.anchor}
// CHECK-NOT: "xyntra.stage"
// CHECK: return
func.func @one_factor(%a: memref<777x1024xf16>, %b: memref<1024x513xf16>, %c: memref<777x513xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%c : memref<777x513xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<777x1024xf16>, memref<1024x513xf16>) outs(%c : memref<777x513xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Threads that multiply in exact f32 copy rows of 777 elements one by one, and those of 780 by fours.
// CHECK-LABEL: func.func @singles(
// CHECK: memref.alloc() : memref<384x780xf32>
// CHECK: [[RIGHT:%.+]] = memref.subview {{.+}} to memref<384x777xf32, strided<[780, 1]>>
// CHECK: linalg.generic {{.+}} ins(%arg1 : {{.+}}) outs([[RIGHT]] :
// CHECK: linalg.generic {{.+}} ins(%arg0, [[RIGHT]] : {{.+}} attrs = {xyntra.anchor}
// CHECK: return
func.func @singles(%a: memref<384x1024xf32>, %b: memref<384x777xf32>, %c: memref<1024x777xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%c : memref<1024x777xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<384x1024xf32>, memref<384x777xf32>) outs(%c : memref<1024x777xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %f = arith.mulf %p, %q : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  return
}
