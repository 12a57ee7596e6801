// RUN: %xyntra-opt %s --choose-schedules --split-input-file | FileCheck %s
// RUN: %xyntra-opt %s --choose-schedules=device=sm_80 --split-input-file | FileCheck %s --check-prefix=AMPERE

// Few tiles share the reduction of each among the blocks of a cluster, which GPUs have from Hopper on.
// CHECK-LABEL: func.func @product
// CHECK: xyntra.anchor
// CHECK: }) {schedule = #xyntra.schedule<{emitter = "fma", split_k = 8 : i64, thread_tile = [4, 4], tile = [32, 32]}>}
// AMPERE-LABEL: func.func @product
// AMPERE: }) {schedule = #xyntra.schedule<{emitter = "fma", thread_tile = [4, 4], tile = [32, 32]}>}
func.func @product(%a: memref<64x512xf32>, %b: memref<512x64xf32>, %c: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  "xyntra.stage"() ({
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%c : memref<64x64xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    }
    linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<64x512xf32>, memref<512x64xf32>) outs(%c : memref<64x64xf32>) attrs = {xyntra.anchor} {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %p, %o : f32
      linalg.yield %s : f32
    }
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) : () -> ()
  return
}

// -----

// A schedule that is there is kept, if it can be carried out.
// CHECK-LABEL: func.func @kept
// CHECK: }) {schedule = #xyntra.schedule<{emitter = "fma", thread_tile = [8, 8], tile = [64, 64]}>}
func.func @kept(%a: memref<64x512xf32>, %b: memref<512x64xf32>, %c: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  "xyntra.stage"() ({
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%c : memref<64x64xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    }
    linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<64x512xf32>, memref<512x64xf32>) outs(%c : memref<64x64xf32>) attrs = {xyntra.anchor} {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %p, %o : f32
      linalg.yield %s : f32
    }
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) {schedule = #xyntra.schedule<{emitter = "fma", tile = [64, 64], thread_tile = [8, 8]}>} : () -> ()
  return
}

// -----

// An input that lies across goes through tiles in shared memory where it is large, one in order does not.
// CHECK-LABEL: func.func @elementwise
// CHECK: emitter = "pointwise"
// CHECK: emitter = "transposed"
func.func @elementwise(%a: memref<1024x1024xf32>, %b: memref<1024x1024xf32>, %c: memref<1024x1024xf32>) {
  "xyntra.stage"() ({
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : memref<1024x1024xf32>) outs(%b : memref<1024x1024xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = arith.negf %x : f32
      linalg.yield %y : f32
    }
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) : () -> ()
  "xyntra.stage"() ({
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : memref<1024x1024xf32>) outs(%c : memref<1024x1024xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = arith.negf %x : f32
      linalg.yield %y : f32
    }
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) : () -> ()
  return
}

// -----

// Where every multiprocessor has many tiles, these are large: small ones would wait for the L2 cache.
// CHECK-LABEL: func.func @large_product
// CHECK: }) {schedule = #xyntra.schedule<{emitter = "wgmma", tile = [128, {{192|256}}]}>}
func.func @large_product(%a: memref<3000x6400xf16>, %b: memref<6400x1600xf16>, %c: memref<3000x1600xf32>) {
  %zero = arith.constant 0.0 : f32
  "xyntra.stage"() ({
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%c : memref<3000x1600xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    }
    linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<3000x6400xf16>, memref<6400x1600xf16>) outs(%c : memref<3000x1600xf32>) attrs = {xyntra.anchor} {
    ^bb0(%x: f16, %y: f16, %o: f32):
      %l = arith.extf %x : f16 to f32
      %r = arith.extf %y : f16 to f32
      %p = arith.mulf %l, %r : f32
      %s = arith.addf %p, %o : f32
      linalg.yield %s : f32
    }
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) : () -> ()
  return
}
