// RUN: %xyntra-opt %s --merge-siblings --split-input-file | FileCheck %s

#i = affine_map<(i) -> (i)>

// Operations that read the same elements become one.
// CHECK-LABEL: func.func @same_input(
// CHECK: linalg.generic
// CHECK-SAME: outs({{%.+}}, {{%.+}} : memref<64xf32, strided<[1]>>, memref<64xf32, strided<[1]>>)
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @same_input(%x: memref<64xf32>, %y: memref<64xf32>, %z: memref<64xf32>) {
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%x : memref<64xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.negf %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%x : memref<64xf32>) outs(%z : memref<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.mulf %p, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#nm = affine_map<(m, n) -> (n, m)>

// Three colours lie side by side in one array, and a plane apart in the other: a thread takes all three.
// CHECK-LABEL: func.func @colours(
// CHECK-DAG: memref.reinterpret_cast %arg0 to offset: [1], sizes: [64], strides: [3]
// CHECK-DAG: memref.reinterpret_cast %arg1 to offset: [128], sizes: [64], strides: [1]
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @colours(%x: memref<64x3xf32>, %y: memref<3x64xf32>) {
  linalg.generic {indexing_maps = [#nm, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<64x3xf32>) outs(%y : memref<3x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  return
}
