// RUN: %xyntra-opt %s --join-pieces --split-input-file | FileCheck %s

#ij = affine_map<(i, j) -> (i, j)>

// Its rows have vectors of 16 bytes, wherever they begin.
// CHECK-LABEL: func.func @in_vectors(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @in_vectors(%x: memref<2048x512xf16>, %y: memref<2048x520xf16>) {
  %zero = arith.constant 0.0 : f16
  %left = memref.subview %y[0, 0] [2048, 8] [1, 1] : memref<2048x520xf16> to memref<2048x8xf16, strided<[520, 1]>>
  %inside = memref.subview %y[0, 8] [2048, 512] [1, 1] : memref<2048x520xf16> to memref<2048x512xf16, strided<[520, 1], offset: 8>>
  "xyntra.stage"() ({
    linalg.generic {indexing_maps = [#ij], iterator_types = ["parallel", "parallel"]}
        outs(%left : memref<2048x8xf16, strided<[520, 1]>>) {
    ^bb0(%o: f16):
      linalg.yield %zero : f16
    }
    linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
        ins(%x : memref<2048x512xf16>) outs(%inside : memref<2048x512xf16, strided<[520, 1], offset: 8>>) {
    ^bb0(%p: f16, %o: f16):
      linalg.yield %p : f16
    }
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) : () -> ()
  return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>

// The first three columns are not written: what they hold must stay.
// CHECK-LABEL: func.func @in_part(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @in_part(%x: memref<2048x511xf16>, %y: memref<2048x515xf16>) {
  %zero = arith.constant 0.0 : f16
  %right = memref.subview %y[0, 514] [2048, 1] [1, 1] : memref<2048x515xf16> to memref<2048x1xf16, strided<[515, 1], offset: 514>>
  %inside = memref.subview %y[0, 3] [2048, 511] [1, 1] : memref<2048x515xf16> to memref<2048x511xf16, strided<[515, 1], offset: 3>>
  "xyntra.stage"() ({
    linalg.generic {indexing_maps = [#ij], iterator_types = ["parallel", "parallel"]}
        outs(%right : memref<2048x1xf16, strided<[515, 1], offset: 514>>) {
    ^bb0(%o: f16):
      linalg.yield %zero : f16
    }
    linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
        ins(%x : memref<2048x511xf16>) outs(%inside : memref<2048x511xf16, strided<[515, 1], offset: 3>>) {
    ^bb0(%p: f16, %o: f16):
      linalg.yield %p : f16
    }
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) : () -> ()
  return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>

// Few elements: a launch takes longer than all of them.
// CHECK-LABEL: func.func @few(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @few(%x: memref<16x512xf16>, %y: memref<16x515xf16>) {
  %zero = arith.constant 0.0 : f16
  %left = memref.subview %y[0, 0] [16, 3] [1, 1] : memref<16x515xf16> to memref<16x3xf16, strided<[515, 1]>>
  %inside = memref.subview %y[0, 3] [16, 512] [1, 1] : memref<16x515xf16> to memref<16x512xf16, strided<[515, 1], offset: 3>>
  "xyntra.stage"() ({
    linalg.generic {indexing_maps = [#ij], iterator_types = ["parallel", "parallel"]}
        outs(%left : memref<16x3xf16, strided<[515, 1]>>) {
    ^bb0(%o: f16):
      linalg.yield %zero : f16
    }
    linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
        ins(%x : memref<16x512xf16>) outs(%inside : memref<16x512xf16, strided<[515, 1], offset: 3>>) {
    ^bb0(%p: f16, %o: f16):
      linalg.yield %p : f16
    }
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) : () -> ()
  return
}
