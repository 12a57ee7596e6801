// RUN: %xyntra-opt %s --join-independent-stages --split-input-file | FileCheck %s
// RUN: not %xyntra-opt %s --join-independent-stages=device=sm_91 --split-input-file 2>&1 | FileCheck %s --check-prefix=DEVICE

#i = affine_map<(i) -> (i)>

// There is no such GPU.
// DEVICE: there is no GPU 'sm_91'
// The second reads what the first one writes.
// CHECK-LABEL: func.func @dependent(
// CHECK-COUNT-2: "xyntra.stage"() ({
// CHECK: return
func.func @dependent(%x: memref<64xf32>, %p: memref<64xf32>, %q: memref<64xf32>) {
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
        ins(%p : memref<64xf32>) outs(%q : memref<64xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.mulf %a, %a : f32
      linalg.yield %s : f32
    }
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) : () -> ()
  return
}

// -----

#i = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

// One of them reduces.
// CHECK-LABEL: func.func @reduction(
// CHECK-COUNT-2: "xyntra.stage"() ({
// CHECK: return
func.func @reduction(%x: memref<64xf32>, %p: memref<64xf32>, %q: memref<f32>) {
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
    linalg.generic {indexing_maps = [#i, #none], iterator_types = ["reduction"]}
        ins(%x : memref<64xf32>) outs(%q : memref<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %a, %o : f32
      linalg.yield %s : f32
    }
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) : () -> ()
  return
}
