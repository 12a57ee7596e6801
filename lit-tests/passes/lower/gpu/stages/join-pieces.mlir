// RUN: %xyntra-opt %s --join-pieces --split-input-file | FileCheck %s

#ij = affine_map<(i, j) -> (i, j)>

// A matrix with three columns before it and one behind: one operation asks where an element is.
// CHECK-LABEL: func.func @padded(
// CHECK: "xyntra.stage"() ({
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : memref<2048x515xf16
// CHECK: %[[IN:.*]] = arith.cmpi ult, %{{.*}}, %c511_i32
// CHECK: %[[INSIDE:.*]] = arith.andi %{{.*}}, %[[IN]]
// CHECK: %[[PLACE:.*]] = arith.select %[[INSIDE]], %{{.*}}, %c0_i32
// CHECK: %[[AT:.*]] = arith.index_castui %[[PLACE]]
// CHECK: %[[READ:.*]] = memref.load %{{.*}}[%[[AT]]]
// CHECK: %[[RESULT:.*]] = arith.select %[[INSIDE]], %[[READ]], %cst
// CHECK: linalg.yield %[[RESULT]]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @padded(%x: memref<2048x511xf16>, %y: memref<2048x515xf16>) {
  %zero = arith.constant 0.0 : f16
  %left = memref.subview %y[0, 0] [2048, 3] [1, 1] : memref<2048x515xf16> to memref<2048x3xf16, strided<[515, 1]>>
  %right = memref.subview %y[0, 514] [2048, 1] [1, 1] : memref<2048x515xf16> to memref<2048x1xf16, strided<[515, 1], offset: 514>>
  %inside = memref.subview %y[0, 3] [2048, 511] [1, 1] : memref<2048x515xf16> to memref<2048x511xf16, strided<[515, 1], offset: 3>>
  "xyntra.stage"() ({
    linalg.generic {indexing_maps = [#ij], iterator_types = ["parallel", "parallel"]}
        outs(%left : memref<2048x3xf16, strided<[515, 1]>>) {
    ^bb0(%o: f16):
      linalg.yield %zero : f16
    }
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
