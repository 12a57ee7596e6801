// RUN: %xyntra-opt %s --split-long-products --split-input-file | FileCheck %s

#mn = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// The product has one tile of 64x64, which keeps one multiprocessor busy. In 128 parts of 512 steps it
// keeps 128 of them, and then another launch adds up what they give.
// CHECK-LABEL: func.func @deep(
// CHECK-SAME: [[A:%[a-z0-9]+]]: memref<64x65536xf16>, [[B:%[a-z0-9]+]]: memref<65536x64xf16>, [[C:%[a-z0-9]+]]: memref<64x64xf32>)
// CHECK: [[PARTS:%.+]] = memref.alloc() : memref<128x64x64xf32>
// CHECK: linalg.generic {{.+}} outs([[PARTS]] : {{.+}}) attrs = {xyntra.split}
// CHECK-DAG: [[LEFT:%.+]] = memref.reinterpret_cast [[A]] {{.+}} to memref<64x128x512xf16, strided<[65536, 512, 1]>>
// CHECK-DAG: [[RIGHT:%.+]] = memref.reinterpret_cast [[B]] {{.+}} to memref<128x512x64xf16, strided<[32768, 64, 1]>>
// CHECK: linalg.generic {{.+}} iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins([[LEFT]], [[RIGHT]] : {{.+}}) outs([[PARTS]] : {{.+}}) attrs = {xyntra.split}
// CHECK: arith.mulf
// CHECK: linalg.generic {{.+}} outs([[C]] :
// CHECK: linalg.generic {{.+}} iterator_types = ["reduction", "parallel", "parallel"]} ins([[PARTS]] : {{.+}}) outs([[C]] :
// CHECK: arith.addf
// CHECK: return
func.func @deep(%a: memref<64x65536xf16>, %b: memref<65536x64xf16>, %c: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%c : memref<64x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x65536xf16>, memref<65536x64xf16>) outs(%c : memref<64x64xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  return
}
