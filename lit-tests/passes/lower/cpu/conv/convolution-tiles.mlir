// RUN: %xyntra-opt %s --split-input-file --schedule-nests --convolution-tiles | FileCheck %s

#none = affine_map<(n, y, x, m) -> (n, y, x, m)>
#image = affine_map<(n, y, x, m, i, j, c) -> (n, y + i, x + j, c)>
#weight = affine_map<(n, y, x, m, i, j, c) -> (m, c, i, j)>
#result = affine_map<(n, y, x, m, i, j, c) -> (n, y, x, m)>

// The weights become panels of 16 channels, once: 9 taps of 8 channels of 16.
// CHECK-LABEL: func.func @convolution.prepare(
// CHECK: memref.store {{.+}} : memref<1152xf32>
// A table says where each of the 49 output positions starts in the image.
// CHECK-LABEL: func.func @convolution(
// CHECK: memref.alloc() {{.*}}: memref<49xindex>
// CHECK-NOT: linalg.generic
// Three rows of taps and channels are one run of 24 steps through the image.
// CHECK: scf.for {{.+}} to %c24 step
// CHECK: [[X:%.+]] = memref.load {{.+}} : memref<648xf32>
// CHECK: vector.broadcast [[X]] : f32 to vector<8xf32>
// CHECK: vector.store {{.+}} : memref<784xf32>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @convolution(%x: memref<1x9x9x8xf32>, %w: memref<16x8x3x3xf32> {xyntra.constant}, %y: memref<1x7x7x16xf32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "conv"}>} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#none], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%y : memref<1x7x7x16xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#image, #weight, #result],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : memref<1x9x9x8xf32>, memref<16x8x3x3xf32>) outs(%y : memref<1x7x7x16xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#out = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, i, k) -> (m, i, k)>
#b = affine_map<(m, n, i, k) -> (n, k, i)>
#c = affine_map<(m, n, i, k) -> (m, n)>

// A long reduction is cut; its tiles wait in a strip, and are stored with what follows.
// CHECK-LABEL: func.func @two_taps(
// CHECK: [[STRIP:%.+]] = memref.alloc() {{.*}}: memref<{{[0-9]+}}xf32>
// CHECK: memref.prefetch
// CHECK: vector.store {{.+}}, [[STRIP]]
// CHECK: [[SUM:%.+]] = vector.load [[STRIP]]
// CHECK: [[Y:%.+]] = arith.negf [[SUM]]
// CHECK: vector.store [[Y]]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @two_taps(%x: memref<32x2x512xf32>, %w: memref<64x512x2xf32> {xyntra.constant}, %z: memref<32x64xf32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "contraction"}>} {
  %zero = arith.constant 0.0 : f32
  %y = memref.alloc() : memref<32x64xf32>
  linalg.generic {indexing_maps = [#out], iterator_types = ["parallel", "parallel"]} outs(%y : memref<32x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : memref<32x2x512xf32>, memref<64x512x2xf32>) outs(%y : memref<32x64xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#out, #out], iterator_types = ["parallel", "parallel"]}
      ins(%y : memref<32x64xf32>) outs(%z : memref<32x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %n = arith.negf %p : f32
    linalg.yield %n : f32
  }
  return
}
