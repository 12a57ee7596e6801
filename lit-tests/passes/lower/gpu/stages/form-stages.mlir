// RUN: %xyntra-opt %s --form-contraction-stages --form-stages --split-input-file | FileCheck %s
// RUN: %xyntra-opt %s --form-contraction-stages --form-stages=single=true --split-input-file | FileCheck %s --check-prefix=SINGLE

#mn = affine_map<(m, n) -> (m, n)>
#m = affine_map<(m, n) -> (m)>
#i = affine_map<(i) -> (i)>

// Operations that exchange rows share one launch: the sums of rows, and what divides the rows by them.
// Memory and scalars stay outside. With `single`, each operation is a launch.
// CHECK-LABEL: func.func @rows(
// CHECK: arith.constant
// CHECK: memref.alloc
// CHECK-NEXT: "xyntra.stage"() ({
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT: "xyntra.stage"
// CHECK: "xyntra.yield"()
// CHECK-NEXT: }) : () -> ()
// CHECK-NEXT: return
// SINGLE-LABEL: func.func @rows(
// SINGLE-COUNT-3: "xyntra.stage"() ({
// SINGLE-NOT: "xyntra.stage"
// SINGLE: return
func.func @rows(%x: memref<512x768xf32>, %y: memref<512x768xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<512xf32>
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]}
      outs(%t : memref<512xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#mn, #m], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<512x768xf32>) outs(%t : memref<512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#mn, #m, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%x, %t : memref<512x768xf32>, memref<512xf32>) outs(%y : memref<512x768xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.divf %p, %q : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#i = affine_map<(i) -> (i)>

// Operations that share nothing are one launch, side by side.
// CHECK-LABEL: func.func @apart(
// CHECK: "xyntra.stage"() ({
// CHECK: arith.maximumf
// CHECK-NOT: "xyntra.stage"
// CHECK: outs({{%.+}} : memref<32xf32>)
// CHECK: "xyntra.yield"()
// CHECK-NEXT: }) : () -> ()
// CHECK-NEXT: return
func.func @apart(%x: memref<64x64xf32>, %y: memref<64x64xf32>, %u: memref<32xf32>, %v: memref<32xf32>) {
  linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<64x64xf32>) outs(%y : memref<64x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %z = arith.constant 0.0 : f32
    %s = arith.maximumf %p, %z : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%u : memref<32xf32>) outs(%v : memref<32xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>

// Loops of any kind are one stage each.
// CHECK-LABEL: func.func @loops_and_rows(
// CHECK: "xyntra.stage"() ({
// CHECK: linalg.generic
// CHECK: "xyntra.yield"()
// CHECK: "xyntra.stage"() ({
// CHECK-NEXT: scf.for
// CHECK: "xyntra.yield"()
// CHECK-NEXT: }) : () -> ()
// CHECK-NEXT: return
func.func @loops_and_rows(%x: memref<64x64xf32>, %y: memref<64x64xf32>, %i: memref<64xindex>) {
  linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<64x64xf32>) outs(%y : memref<64x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %z = arith.constant 0.0 : f32
    %s = arith.maximumf %p, %z : f32
    linalg.yield %s : f32
  }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %n = %c0 to %c64 step %c1 {
    %at = memref.load %i[%n] : memref<64xindex>
    %p = memref.load %y[%n, %n] : memref<64x64xf32>
    memref.store %p, %y[%at, %at] : memref<64x64xf32>
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// What is in a stage already stays there. Of operations that take up the result of a contraction one by
// one, the first starts a stage, so that later it can join the contraction.
// CHECK-LABEL: func.func @columns(
// CHECK: "xyntra.stage"() ({
// CHECK: xyntra.anchor
// CHECK: "xyntra.yield"()
// CHECK: "xyntra.stage"() ({
// CHECK: arith.constant
// CHECK: "xyntra.yield"()
// CHECK: "xyntra.stage"() ({
// CHECK: arith.constant
// CHECK: "xyntra.yield"()
// CHECK-NEXT: }) : () -> ()
// CHECK-NEXT: return
// SINGLE-LABEL: func.func @columns(
// SINGLE: "xyntra.stage"() ({
// SINGLE: xyntra.anchor
// SINGLE-COUNT-2: "xyntra.stage"() ({
// SINGLE: return
func.func @columns(%a: memref<64x512xf16>, %b: memref<512x64xf16>, %y: memref<64x32xf32>, %z: memref<64x32xf32>) {
  %zero = arith.constant 0.0 : f32
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
  %left = memref.subview %t[0, 0] [64, 32] [1, 1] : memref<64x64xf32> to memref<64x32xf32, strided<[64, 1]>>
  linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%left : memref<64x32xf32, strided<[64, 1]>>) outs(%y : memref<64x32xf32>) {
  ^bb0(%p: f32, %o: f32):
    %c = arith.constant 2.0 : f32
    %s = arith.mulf %p, %c : f32
    linalg.yield %s : f32
  }
  %right = memref.subview %t[0, 32] [64, 32] [1, 1] : memref<64x64xf32> to memref<64x32xf32, strided<[64, 1], offset: 32>>
  linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%right : memref<64x32xf32, strided<[64, 1], offset: 32>>) outs(%z : memref<64x32xf32>) {
  ^bb0(%p: f32, %o: f32):
    %c = arith.constant 3.0 : f32
    %s = arith.mulf %p, %c : f32
    linalg.yield %s : f32
  }
  return
}
