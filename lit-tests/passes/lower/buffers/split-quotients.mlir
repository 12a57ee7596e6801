// RUN: %xyntra-opt %s --split-quotients --split-input-file | FileCheck %s

// Two quotients of a loop: one loop for every digit, and views of the same digits.
// CHECK-DAG: #[[$SMALL:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
// CHECK-DAG: #[[$HALF:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-DAG: #[[$WHOLE:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-LABEL: func.func @nested
// CHECK-SAME: %[[A:.*]]: memref<3x4xf32>, %[[B:.*]]: memref<3x8xf32>, %[[C:.*]]: memref<3x16xf32>
// CHECK-DAG: %[[H:.*]] = memref.expand_shape %[[B]] {{.*}} into memref<3x4x2xf32>
// CHECK-DAG: %[[O:.*]] = memref.expand_shape %[[C]] {{.*}} into memref<3x4x2x2xf32>
// CHECK: linalg.generic {indexing_maps = [#[[$SMALL]], #[[$HALF]], #[[$WHOLE]]]
// CHECK-SAME: ins(%[[A]], %[[H]] : {{.*}}) outs(%[[O]] :
func.func @nested(%a: memref<3x4xf32>, %b: memref<3x8xf32>, %c: memref<3x16xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1 floordiv 4)>,
      affine_map<(d0, d1) -> (d0, d1 floordiv 2)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
    ins(%a, %b : memref<3x4xf32>, memref<3x8xf32>) outs(%c : memref<3x16xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  }
  return
}
