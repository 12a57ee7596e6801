// RUN: %xyntra-opt %s --form-contraction-stages --split-input-file | FileCheck %s

#mn = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Four steps of a reduction are not worth tiles.
// CHECK-LABEL: func.func @few_steps(
// CHECK-NOT: xyntra.
// CHECK: return
func.func @few_steps(%a: memref<64x4xf32>, %b: memref<4x64xf32>, %y: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%y : memref<64x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x4xf32>, memref<4x64xf32>) outs(%y : memref<64x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %f = arith.mulf %p, %q : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Without a fill nothing is known of what the output held before.
// CHECK-LABEL: func.func @accumulates(
// CHECK-NOT: xyntra.
// CHECK: return
func.func @accumulates(%a: memref<64x512xf16>, %b: memref<512x64xf16>, %y: memref<64x64xf32>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x512xf16>, memref<512x64xf16>) outs(%y : memref<64x64xf32>) {
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

#i = affine_map<(i) -> (i)>
#one = affine_map<(m, k) -> (m)>
#all = affine_map<(m, k) -> (m, k)>

// A sum of rows reuses nothing: it has no columns.
// CHECK-LABEL: func.func @one_factor(
// CHECK-NOT: xyntra.
// CHECK: return
func.func @one_factor(%x: memref<64x512xf32>, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]}
      outs(%y : memref<64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#all, #one], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<64x512xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// What overwrites a factor stands between the product and its epilogue, which then stays outside of the
// stage.
// CHECK-LABEL: func.func @overwritten_between(
// CHECK: "xyntra.stage"() ({
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: "xyntra.yield"()
// CHECK-NEXT: }) : () -> ()
// CHECK-NEXT: linalg.generic
// CHECK: linalg.generic
// CHECK: arith.maximumf
// CHECK: return
func.func @overwritten_between(%a: memref<64x512xf16>, %b: memref<512x64xf16>, %y: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.0 : f16
  %t = memref.alloc() : memref<64x64xf32>
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%t : memref<64x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x512xf16>, memref<512x64xf16>) outs(%t : memref<64x64xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%a : memref<64x512xf16>) {
  ^bb0(%o: f16):
    linalg.yield %half : f16
  }
  linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%t : memref<64x64xf32>) outs(%y : memref<64x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %z = arith.constant 0.0 : f32
    %s = arith.maximumf %p, %z : f32
    linalg.yield %s : f32
  }
  return
}
