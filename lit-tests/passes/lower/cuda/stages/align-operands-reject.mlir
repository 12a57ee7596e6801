// RUN: %xyntra-opt %s --form-contraction-stages --form-stages --align-operands --split-input-file | FileCheck %s
// RUN: %xyntra-opt %s --form-contraction-stages --form-stages --align-operands=device=sm_80 --split-input-file | FileCheck %s
// RUN: not %xyntra-opt %s --form-contraction-stages --form-stages --align-operands=device=sm_91 --split-input-file 2>&1 | FileCheck %s --check-prefix=DEVICE

#mn = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// There is no such GPU.
// DEVICE: there is no GPU 'sm_91'
// A small product takes less time on warps than the copies of its factors do.
// CHECK-LABEL: func.func @small(
// CHECK-NOT: memref.alloc
// CHECK: "xyntra.stage"() ({
// CHECK: xyntra.anchor
// CHECK-NOT: "xyntra.stage"
// CHECK: return
func.func @small(%a: memref<40x41xf16>, %b: memref<41x42xf16>, %c: memref<40x42xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%c : memref<40x42xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<40x41xf16>, memref<41x42xf16>) outs(%c : memref<40x42xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Rows that TMA can copy as they are.
// CHECK-LABEL: func.func @aligned(
// CHECK-NOT: memref.alloc
// CHECK: "xyntra.stage"() ({
// CHECK: xyntra.anchor
// CHECK-NOT: "xyntra.stage"
// CHECK: return
func.func @aligned(%a: memref<768x1024xf16>, %b: memref<1024x512xf16>, %c: memref<768x512xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%c : memref<768x512xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<768x1024xf16>, memref<1024x512xf16>) outs(%c : memref<768x512xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Elements of four bytes are not for warpgroups, unless they may be rounded.
// CHECK-LABEL: func.func @f32(
// CHECK-NOT: memref.alloc
// CHECK: "xyntra.stage"() ({
// CHECK: xyntra.anchor
// CHECK-NOT: "xyntra.stage"
// CHECK: return
func.func @f32(%a: memref<777x1001xf32>, %b: memref<1001x513xf32>, %c: memref<777x513xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%c : memref<777x513xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<777x1001xf32>, memref<1001x513xf32>) outs(%c : memref<777x513xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %f = arith.mulf %p, %q : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Rows of a part of longer rows: a copy of them would be one of other memory.
// CHECK-LABEL: func.func @part(
// CHECK-NOT: memref.alloc
// CHECK: "xyntra.stage"() ({
// CHECK: xyntra.anchor
// CHECK-NOT: "xyntra.stage"
// CHECK: return
func.func @part(%a: memref<777x1001xf16, strided<[1101, 1]>>, %b: memref<1001x513xf16>, %c: memref<777x513xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%c : memref<777x513xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<777x1001xf16, strided<[1101, 1]>>, memref<1001x513xf16>) outs(%c : memref<777x513xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  return
}
