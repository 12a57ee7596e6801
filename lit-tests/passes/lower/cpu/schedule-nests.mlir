// RUN: %xyntra-opt %s --schedule-nests | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: %xyntra-opt %s --schedule-nests=vector-bits=512,vector-registers=32 | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: %xyntra-opt %s --schedule-nests=emitters=scalar-loops | FileCheck %s --check-prefix=SCALAR
// RUN: %xyntra-opt %s --schedule-nests --schedule-nests | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: %xyntra-opt %s --schedule-nests --register-tiles --nest-loops | FileCheck %s --check-prefix=LOOPS

#none = affine_map<(m, n) -> ()>
#id = affine_map<(m, n) -> (m, n)>
#turned = affine_map<(m, n) -> (n, m)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// The product has a schedule; the fill, and what follows in its tiles, have none.
// CHECK-LABEL: func.func @product(
// CHECK: linalg.generic
// CHECK-NOT: xyntra.schedule
// CHECK: linalg.generic
// AVX2-SAME: xyntra.schedule = #xyntra.schedule<{blocks = [11, 1], columns = [1], emitter = "register-tiles", epilogue = true, row = 0 : i64, tile = [6, 16], vector = 8 : i64}>
// AVX512-SAME: xyntra.schedule = #xyntra.schedule<{{.*}}emitter = "register-tiles", epilogue = true, {{.*}}vector = 16 : i64}>
// CHECK: linalg.generic
// CHECK-NOT: xyntra.schedule
// CHECK: return
// SCALAR-LABEL: func.func @product(
// SCALAR-COUNT-3: emitter = "scalar-loops"
// LOOPS-LABEL: func.func @product(
// LOOPS-NOT: linalg.generic
// LOOPS: vector.store
// LOOPS: return
func.func @product(%a: memref<64x64xf32>, %b: memref<64x64xf32>, %d: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc() : memref<64x64xf32>
  linalg.generic {indexing_maps = [#none, #id], iterator_types = ["parallel", "parallel"]}
      ins(%zero : f32) outs(%c : memref<64x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x64xf32>, memref<64x64xf32>) outs(%c : memref<64x64xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c : memref<64x64xf32>) outs(%d : memref<64x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %p : f32
    linalg.yield %s : f32
  }
  return
}

// Two nests share their rows; the schedule stands on the first one.
// CHECK-LABEL: func.func @rows(
// CHECK: linalg.generic
// AVX2-SAME: emitter = "vector-rows", nests = 2 : i64, vector = 8 : i64
// AVX512-SAME: emitter = "vector-rows", nests = 2 : i64, vector = 16 : i64
// CHECK: linalg.generic
// CHECK-NOT: xyntra.schedule
// CHECK: return
func.func @rows(%a: memref<30x100xf32>, %b: memref<30x100xf32>) {
  %c = memref.alloc() : memref<30x100xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<30x100xf32>) outs(%c : memref<30x100xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c : memref<30x100xf32>) outs(%b : memref<30x100xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.mulf %p, %p : f32
    linalg.yield %s : f32
  }
  return
}

// CHECK-LABEL: func.func @transposed(
// CHECK: linalg.generic
// CHECK-SAME: xyntra.schedule = #xyntra.schedule<{edge = 8 : i64, emitter = "transposed-tiles"}>
// CHECK: return
func.func @transposed(%a: memref<64x64xf32>, %b: memref<64x64xf32>) {
  linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<64x64xf32>) outs(%b : memref<64x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  return
}

// What is there is kept, also where another emitter would be chosen.
// CHECK-LABEL: func.func @given(
// CHECK: linalg.generic
// CHECK-SAME: xyntra.schedule = #xyntra.schedule<{emitter = "scalar-loops"}>
// CHECK: return
func.func @given(%a: memref<64x64xf32>, %b: memref<64x64xf32>) {
  linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<64x64xf32>) outs(%b : memref<64x64xf32>)
      attrs = {xyntra.schedule = #xyntra.schedule<{emitter = "scalar-loops"}>} {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  return
}
