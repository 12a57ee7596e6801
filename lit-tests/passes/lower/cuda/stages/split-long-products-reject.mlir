// RUN: %xyntra-opt %s --split-long-products --split-input-file | FileCheck %s
// RUN: %xyntra-opt %s --split-long-products=device=sm_80 --split-input-file | FileCheck %s
// RUN: not %xyntra-opt %s --split-long-products=device=sm_91 --split-input-file 2>&1 | FileCheck %s --check-prefix=DEVICE

#mn = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// There is no such GPU.
// DEVICE: there is no GPU 'sm_91'
// A product of 512 steps takes less time whole than a second launch does.
// CHECK-LABEL: func.func @short(
// CHECK-NOT: memref.alloc
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @short(%a: memref<64x512xf16>, %b: memref<512x64xf16>, %c: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%c : memref<64x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x512xf16>, memref<512x64xf16>) outs(%c : memref<64x64xf32>) {
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

// A product with tiles for the whole GPU has work for it as it is.
// CHECK-LABEL: func.func @many_tiles(
// CHECK-NOT: memref.alloc
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @many_tiles(%a: memref<2048x4096xf16>, %b: memref<4096x1024xf16>, %c: memref<2048x1024xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%c : memref<2048x1024xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<2048x4096xf16>, memref<4096x1024xf16>) outs(%c : memref<2048x1024xf32>) {
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

// No number of parts has whole steps: 65537 is a prime.
// CHECK-LABEL: func.func @prime(
// CHECK-NOT: memref.alloc
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @prime(%a: memref<64x65537xf16>, %b: memref<65537x64xf16>, %c: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%c : memref<64x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x65537xf16>, memref<65537x64xf16>) outs(%c : memref<64x64xf32>) {
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

#za = affine_map<(z, m, n, k) -> (z, m, k)>
#zb = affine_map<(z, m, n, k) -> (z, k, n)>
#zc = affine_map<(z, m, n, k) -> (z, m, n)>
#zmn = affine_map<(z, m, n) -> (z, m, n)>

// The products of a batch are side by side already.
// CHECK-LABEL: func.func @batched(
// CHECK-NOT: memref.alloc
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @batched(%a: memref<4x64x16384xf16>, %b: memref<4x16384x64xf16>, %c: memref<4x64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#zmn], iterator_types = ["parallel", "parallel", "parallel"]}
      outs(%c : memref<4x64x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#za, #zb, #zc], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<4x64x16384xf16>, memref<4x16384x64xf16>) outs(%c : memref<4x64x64xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  return
}
