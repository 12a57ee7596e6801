// RUN: %xyntra-opt %s --join-independent-stages | FileCheck %s

#i = affine_map<(i) -> (i)>
#ij = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// Both sums come before both operations that read them, which then share a launch.
// CHECK-LABEL: func.func @sums(
// CHECK: outs(%arg2 : memref<64xf32>)
// CHECK: "xyntra.stage"() ({
// CHECK: outs(%arg3 : memref<64xf32>)
// CHECK: "xyntra.stage"() ({
// CHECK: outs(%arg4 : memref<64xf32>)
// CHECK: outs(%arg5 : memref<64xf32>)
// CHECK-NOT: "xyntra.stage"
// CHECK: return
func.func @sums(%x: memref<64x8xf32>, %y: memref<64x8xf32>, %p: memref<64xf32>, %q: memref<64xf32>, %r: memref<64xf32>, %s: memref<64xf32>) {
  "xyntra.stage"() ({
    linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]}
        ins(%x : memref<64x8xf32>) outs(%p : memref<64xf32>) {
    ^bb0(%a: f32, %o: f32):
      %t = arith.addf %a, %o : f32
      linalg.yield %t : f32
    }
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) : () -> ()
  "xyntra.stage"() ({
    linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
        ins(%p : memref<64xf32>) outs(%r : memref<64xf32>) {
    ^bb0(%a: f32, %o: f32):
      %t = arith.negf %a : f32
      linalg.yield %t : f32
    }
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) : () -> ()
  "xyntra.stage"() ({
    linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]}
        ins(%y : memref<64x8xf32>) outs(%q : memref<64xf32>) {
    ^bb0(%a: f32, %o: f32):
      %t = arith.addf %a, %o : f32
      linalg.yield %t : f32
    }
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) : () -> ()
  "xyntra.stage"() ({
    linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
        ins(%q : memref<64xf32>) outs(%s : memref<64xf32>) {
    ^bb0(%a: f32, %o: f32):
      %t = arith.mulf %a, %a : f32
      linalg.yield %t : f32
    }
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) : () -> ()
  return
}
