// RUN: %xyntra-opt %s --join-independent-stages | FileCheck %s

#i = affine_map<(i) -> (i)>

// Queries and keys are scaled in stages of their own, as behind a contraction: one launch can do both.
// CHECK-LABEL: func.func @queries_and_keys(
// CHECK: "xyntra.stage"() ({
// CHECK: outs(%arg2 : memref<64xf32>)
// CHECK: outs(%arg3 : memref<128xf32>)
// CHECK: "xyntra.yield"()
// CHECK-NEXT: }) : () -> ()
// CHECK-NEXT: return
func.func @queries_and_keys(%x: memref<64xf32>, %y: memref<128xf32>, %p: memref<64xf32>, %q: memref<128xf32>) {
  "xyntra.stage"() ({
    linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
        ins(%x : memref<64xf32>) outs(%p : memref<64xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.negf %a : f32
      linalg.yield %s : f32
    }
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) : () -> ()
  "xyntra.stage"() ({
    linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
        ins(%y : memref<128xf32>) outs(%q : memref<128xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.mulf %a, %a : f32
      linalg.yield %s : f32
    }
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) : () -> ()
  return
}
