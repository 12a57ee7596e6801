// RUN: %xyntra-opt %s | %xyntra-opt | FileCheck %s

// What one launch computes, and how.
// CHECK-LABEL: func.func @copies
func.func @copies(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>) {
  // CHECK-NEXT: "xyntra.stage"() ({
  // CHECK-NEXT:   memref.copy %{{.*}}, %{{.*}} : memref<4xf32> to memref<4xf32>
  // CHECK-NEXT:   "xyntra.yield"() {{{.*}}} : () -> ()
  // CHECK-NEXT: }) {schedule = #xyntra.schedule<{emitter = "pointwise", tile = [256], vector = 4 : i64}>} : () -> ()
  "xyntra.stage"() ({
    memref.copy %a, %b : memref<4xf32> to memref<4xf32>
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) {schedule = #xyntra.schedule<{vector = 4, tile = [256], emitter = "pointwise"}>} : () -> ()
  // CHECK-NEXT: "xyntra.stage"() ({
  // CHECK:      }) : () -> ()
  "xyntra.stage"() ({
    memref.copy %b, %c : memref<4xf32> to memref<4xf32>
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) : () -> ()
  return
}
