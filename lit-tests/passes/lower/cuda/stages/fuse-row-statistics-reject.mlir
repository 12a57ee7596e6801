// RUN: %xyntra-opt %s --form-contraction-stages --form-stages --fuse-row-statistics --split-input-file | FileCheck %s
// RUN: not %xyntra-opt %s --form-contraction-stages --form-stages --fuse-row-statistics=device=sm_91 --split-input-file 2>&1 | FileCheck %s --check-prefix=DEVICE

#mn = affine_map<(m, n) -> (m, n)>
#m = affine_map<(m, n) -> (m)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#i = affine_map<(i) -> (i)>
#parts = affine_map<(m, p) -> (p, m)>
#row = affine_map<(m, p) -> (m)>

// There is no such GPU.
// DEVICE: there is no GPU 'sm_91'
// Somebody else reads the values of rows, too, and they are no result of the kernel.
// CHECK-LABEL: func.func @read_again(
// CHECK: "xyntra.stage"() ({
// CHECK-NOT: xyntra.anchor
// CHECK: "xyntra.yield"()
// CHECK: "xyntra.stage"() ({
// CHECK-NOT: math.rsqrt
// CHECK: xyntra.anchor
// CHECK: return
func.func @read_again(%x: memref<512x768xf16>, %w: memref<768x768xf16>, %squares: memref<24x512xf32>, %y: memref<512x768xf16>, %kept: memref<512xf32>) {
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloc() : memref<512xf32>
  %norm = memref.alloc() : memref<512xf32>
  %t = memref.alloc() : memref<512x768xf32>
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]}
      outs(%sum : memref<512xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#parts, #row], iterator_types = ["parallel", "reduction"]}
      ins(%squares : memref<24x512xf32>) outs(%sum : memref<512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%sum : memref<512xf32>) outs(%norm : memref<512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %share = arith.constant 1.302083e-03 : f32
    %e = arith.constant 1.0e-5 : f32
    %a = arith.mulf %p, %share : f32
    %b = arith.addf %a, %e : f32
    %s = math.rsqrt %b : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%t : memref<512x768xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<512x768xf16>, memref<768x768xf16>) outs(%t : memref<512x768xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#mn, #m, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%t, %norm : memref<512x768xf32>, memref<512xf32>) outs(%y : memref<512x768xf16>) {
  ^bb0(%p: f32, %q: f32, %o: f16):
    %s = arith.mulf %p, %q : f32
    %h = arith.truncf %s : f32 to f16
    linalg.yield %h : f16
  }
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%norm : memref<512xf32>) outs(%kept : memref<512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.negf %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#m = affine_map<(m, n) -> (m)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#i = affine_map<(i) -> (i)>
#parts = affine_map<(m, p) -> (p, m)>
#row = affine_map<(m, p) -> (m)>
#pmf = affine_map<(p, m) -> (p, m)>

// What the values are made of is overwritten before the product.
// CHECK-LABEL: func.func @overwritten(
// CHECK: "xyntra.stage"() ({
// CHECK-NOT: xyntra.anchor
// CHECK: "xyntra.yield"()
// CHECK: "xyntra.stage"() ({
// CHECK-NOT: math.rsqrt
// CHECK: xyntra.anchor
// CHECK: return
func.func @overwritten(%x: memref<512x768xf16>, %w: memref<768x768xf16>, %squares: memref<24x512xf32>, %y: memref<512x768xf16>) {
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloc() : memref<512xf32>
  %norm = memref.alloc() : memref<512xf32>
  %t = memref.alloc() : memref<512x768xf32>
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]}
      outs(%sum : memref<512xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#parts, #row], iterator_types = ["parallel", "reduction"]}
      ins(%squares : memref<24x512xf32>) outs(%sum : memref<512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%sum : memref<512xf32>) outs(%norm : memref<512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %share = arith.constant 1.302083e-03 : f32
    %e = arith.constant 1.0e-5 : f32
    %a = arith.mulf %p, %share : f32
    %b = arith.addf %a, %e : f32
    %s = math.rsqrt %b : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#pmf], iterator_types = ["parallel", "parallel"]}
      outs(%squares : memref<24x512xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%t : memref<512x768xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<512x768xf16>, memref<768x768xf16>) outs(%t : memref<512x768xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#mn, #m, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%t, %norm : memref<512x768xf32>, memref<512xf32>) outs(%y : memref<512x768xf16>) {
  ^bb0(%p: f32, %q: f32, %o: f16):
    %s = arith.mulf %p, %q : f32
    %h = arith.truncf %s : f32 to f16
    linalg.yield %h : f16
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#m = affine_map<(m, n) -> (m)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#i = affine_map<(i) -> (i)>
#parts = affine_map<(m, p) -> (p, m)>
#row = affine_map<(m, p) -> (m)>

// Likewise where loops of another kind overwrite it.
// CHECK-LABEL: func.func @overwritten_by_loops(
// CHECK: "xyntra.stage"() ({
// CHECK-NOT: xyntra.anchor
// CHECK: "xyntra.yield"()
// CHECK: "xyntra.stage"() ({
// CHECK-NOT: math.rsqrt
// CHECK: xyntra.anchor
// CHECK: return
func.func @overwritten_by_loops(%x: memref<512x768xf16>, %w: memref<768x768xf16>, %squares: memref<24x512xf32>, %y: memref<512x768xf16>) {
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloc() : memref<512xf32>
  %norm = memref.alloc() : memref<512xf32>
  %t = memref.alloc() : memref<512x768xf32>
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]}
      outs(%sum : memref<512xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#parts, #row], iterator_types = ["parallel", "reduction"]}
      ins(%squares : memref<24x512xf32>) outs(%sum : memref<512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%sum : memref<512xf32>) outs(%norm : memref<512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %share = arith.constant 1.302083e-03 : f32
    %e = arith.constant 1.0e-5 : f32
    %a = arith.mulf %p, %share : f32
    %b = arith.addf %a, %e : f32
    %s = math.rsqrt %b : f32
    linalg.yield %s : f32
  }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  scf.for %i = %c0 to %c512 step %c1 {
    memref.store %zero, %squares[%c0, %i] : memref<24x512xf32>
  }
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%t : memref<512x768xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<512x768xf16>, memref<768x768xf16>) outs(%t : memref<512x768xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#mn, #m, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%t, %norm : memref<512x768xf32>, memref<512xf32>) outs(%y : memref<512x768xf16>) {
  ^bb0(%p: f32, %q: f32, %o: f16):
    %s = arith.mulf %p, %q : f32
    %h = arith.truncf %s : f32 to f16
    linalg.yield %h : f16
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#mpj = affine_map<(m, p, j) -> (m, p, j)>
#pm = affine_map<(m, p, j) -> (p, m)>
#pmf = affine_map<(p, m) -> (p, m)>

// Parts of 64 columns are not what a warp has of a row.
// CHECK-LABEL: func.func @wide_parts(
// CHECK: xyntra.anchor
// CHECK: "xyntra.yield"()
// CHECK: "xyntra.stage"() ({
// CHECK: linalg.generic {{.+}} "reduction"]}
// CHECK: return
func.func @wide_parts(%x: memref<512x768xf16>, %w: memref<768x768xf16>, %y: memref<512x768xf16>, %sums: memref<12x512xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<512x768xf32>
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%t : memref<512x768xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<512x768xf16>, memref<768x768xf16>) outs(%t : memref<512x768xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%t : memref<512x768xf32>) outs(%y : memref<512x768xf16>) {
  ^bb0(%p: f32, %o: f16):
    %h = arith.truncf %p : f32 to f16
    linalg.yield %h : f16
  }
  %parts = memref.expand_shape %y [[0], [1, 2]] output_shape [512, 12, 64] : memref<512x768xf16> into memref<512x12x64xf16>
  linalg.generic {indexing_maps = [#pmf], iterator_types = ["parallel", "parallel"]}
      outs(%sums : memref<12x512xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#mpj, #pm], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%parts : memref<512x12x64xf16>) outs(%sums : memref<12x512xf32>) {
  ^bb0(%p: f16, %o: f32):
    %f = arith.extf %p : f16 to f32
    %q = arith.mulf %f, %f : f32
    %s = arith.addf %o, %q : f32
    linalg.yield %s : f32
  }
  return
}
