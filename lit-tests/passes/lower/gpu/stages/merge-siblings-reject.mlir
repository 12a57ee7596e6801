// RUN: %xyntra-opt %s --merge-siblings --split-input-file | FileCheck %s

#i = affine_map<(i) -> (i)>

// The second operation reads what the first one writes.
// CHECK-LABEL: func.func @dependent(
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @dependent(%x: memref<64xf32>, %y: memref<64xf32>, %z: memref<64xf32>) {
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%x : memref<64xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.negf %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel"]}
      ins(%x, %y : memref<64xf32>, memref<64xf32>) outs(%z : memref<64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#i = affine_map<(i) -> (i)>

// They have nothing in common but the number of elements.
// CHECK-LABEL: func.func @apart(
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @apart(%x: memref<64xf32>, %y: memref<64xf32>, %u: memref<64xf32>, %v: memref<64xf32>) {
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%x : memref<64xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%u : memref<64xf32>) outs(%v : memref<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#n = affine_map<(m, n) -> (n)>

// They share a row that is read again and again, which costs nothing.
// CHECK-LABEL: func.func @one_row(
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @one_row(%x: memref<64x8xf32>, %y: memref<64x8xf32>, %r: memref<8xf32>, %u: memref<64x8xf32>, %v: memref<64x8xf32>) {
  linalg.generic {indexing_maps = [#mn, #n, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%x, %r : memref<64x8xf32>, memref<8xf32>) outs(%u : memref<64x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#mn, #n, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%y, %r : memref<64x8xf32>, memref<8xf32>) outs(%v : memref<64x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  }
  return
}
