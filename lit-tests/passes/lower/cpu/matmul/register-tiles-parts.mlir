// RUN: %xyntra-opt %s --schedule-nests --register-tiles | FileCheck %s

#out = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#y = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// A long reduction against a large constant is done in parts; meanwhile the next part is asked for.
// CHECK-LABEL: func.func @long_constant.prepare(
// CHECK-LABEL: func.func @long_constant(
// CHECK: [[WAITING:%.+]] = memref.alloc() : memref<{{[0-9]+}}xf32>
// CHECK: memref.prefetch {{.+}}, read, locality<2>, data : memref<{{[0-9]+}}xf32>
// CHECK: vector.load [[WAITING]]
// CHECK: scf.for {{.+}} iter_args
// CHECK: vector.store {{.+}}, [[WAITING]]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @long_constant(%a: memref<64x2048xf32>, %b: memref<64x2048xf32> {xyntra.constant}, %c: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#out], iterator_types = ["parallel", "parallel"]} outs(%c : memref<64x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #y, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x2048xf32>, memref<64x2048xf32>) outs(%c : memref<64x64xf32>) {
  ^bb0(%x: f32, %w: f32, %acc: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  return
}
