// RUN: %xyntra-opt %s --form-contraction-stages --form-stages --fold-padding --split-input-file | FileCheck %s
// RUN: %xyntra-opt %s --form-contraction-stages --form-stages=device=webgpu --fold-padding=device=webgpu --split-input-file | FileCheck %s --check-prefix=THREADS

#nhwc = affine_map<(n, h, w, c) -> (n, h, w, c)>
#image = affine_map<(n, h, w, f, c, y, x) -> (n, h + y, w + x, c)>
#filter = affine_map<(n, h, w, f, c, y, x) -> (f, c, y, x)>
#out = affine_map<(n, h, w, f, c, y, x) -> (n, h, w, f)>
#f = affine_map<(n, h, w, c) -> (c)>

// A convolution of f16 is the only one that reads its padded image. The fill and the copy, a launch
// before, become part of its stage, which need not do them: it reads the image, and zeros around it.
// So do threads without tensor cores.
// THREADS-LABEL: func.func @convolution(
// THREADS: "xyntra.stage"() ({
// THREADS-NEXT: linalg.generic {{.+}} outs({{%.+}} : memref<2x30x30x64xf16>)
// THREADS: linalg.generic {{.+}} attrs = {xyntra.anchor}
// THREADS-NOT: "xyntra.stage"
// THREADS: return
// CHECK-LABEL: func.func @convolution(
// CHECK: memref.alloc() : memref<2x30x30x64xf16>
// CHECK: memref.alloc() : memref<2x28x28x64xf32>
// CHECK-NEXT: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic {{.+}} outs({{%.+}} : memref<2x30x30x64xf16>)
// CHECK: linalg.generic {{.+}} ins({{%.+}} : memref<2x28x28x64xf16>) outs({{%.+}} : memref<2x28x28x64xf16, strided
// CHECK: linalg.generic
// CHECK: linalg.generic {{.+}} attrs = {xyntra.anchor}
// CHECK: linalg.generic
// CHECK: arith.maximumf
// CHECK: "xyntra.yield"()
// CHECK-NEXT: }) : () -> ()
// CHECK-NEXT: return
func.func @convolution(%x: memref<2x28x28x64xf16>, %w: memref<64x64x3x3xf16>, %bias: memref<64xf32>, %y: memref<2x28x28x64xf16>) {
  %edge = arith.constant 0.0 : f16
  %zero = arith.constant 0.0 : f32
  %padded = memref.alloc() : memref<2x30x30x64xf16>
  linalg.generic {indexing_maps = [#nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%padded : memref<2x30x30x64xf16>) {
  ^bb0(%o: f16):
    linalg.yield %edge : f16
  }
  %middle = memref.subview %padded[0, 1, 1, 0] [2, 28, 28, 64] [1, 1, 1, 1] : memref<2x30x30x64xf16> to memref<2x28x28x64xf16, strided<[57600, 1920, 64, 1], offset: 1984>>
  linalg.generic {indexing_maps = [#nhwc, #nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : memref<2x28x28x64xf16>) outs(%middle : memref<2x28x28x64xf16, strided<[57600, 1920, 64, 1], offset: 1984>>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  }
  %t = memref.alloc() : memref<2x28x28x64xf32>
  linalg.generic {indexing_maps = [#nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%t : memref<2x28x28x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#image, #filter, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%padded, %w : memref<2x30x30x64xf16>, memref<64x64x3x3xf16>) outs(%t : memref<2x28x28x64xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#nhwc, #f, #nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%t, %bias : memref<2x28x28x64xf32>, memref<64xf32>) outs(%y : memref<2x28x28x64xf16>) {
  ^bb0(%p: f32, %q: f32, %o: f16):
    %s = arith.addf %p, %q : f32
    %c = arith.constant 0.0 : f32
    %m = arith.maximumf %s, %c : f32
    %h = arith.truncf %m : f32 to f16
    linalg.yield %h : f16
  }
  return
}

// -----

#nhwc = affine_map<(n, h, w, c) -> (n, h, w, c)>
#wimage = affine_map<(n, h, w, c, y, x) -> (n, h + y, w + x, c)>
#wtap = affine_map<(n, h, w, c, y, x) -> (y, x)>
#wout = affine_map<(n, h, w, c, y, x) -> (n, h, w, c)>

// A maximum over windows takes what stands in the padding, whatever that is, for what lies outside.
// CHECK-LABEL: func.func @pooling(
// CHECK: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic {{.+}} outs({{%.+}} : memref<2x30x30x64xf16>)
// CHECK-COUNT-3: linalg.generic
// CHECK: arith.maximumf
// CHECK-NOT: "xyntra.stage"
// CHECK: return
func.func @pooling(%x: memref<2x28x28x64xf16>, %y: memref<2x28x28x64xf16>) {
  %least = arith.constant 0xFC00 : f16
  %padded = memref.alloc() : memref<2x30x30x64xf16>
  linalg.generic {indexing_maps = [#nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%padded : memref<2x30x30x64xf16>) {
  ^bb0(%o: f16):
    linalg.yield %least : f16
  }
  %middle = memref.subview %padded[0, 1, 1, 0] [2, 28, 28, 64] [1, 1, 1, 1] : memref<2x30x30x64xf16> to memref<2x28x28x64xf16, strided<[57600, 1920, 64, 1], offset: 1984>>
  linalg.generic {indexing_maps = [#nhwc, #nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : memref<2x28x28x64xf16>) outs(%middle : memref<2x28x28x64xf16, strided<[57600, 1920, 64, 1], offset: 1984>>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  }
  %window = memref.alloc() : memref<3x3xf16>
  linalg.generic {indexing_maps = [#nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%y : memref<2x28x28x64xf16>) {
  ^bb0(%o: f16):
    linalg.yield %least : f16
  }
  linalg.generic {indexing_maps = [#wimage, #wtap, #wout], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%padded, %window : memref<2x30x30x64xf16>, memref<3x3xf16>) outs(%y : memref<2x28x28x64xf16>) {
  ^bb0(%p: f16, %q: f16, %o: f16):
    %m = arith.maximumf %o, %p : f16
    linalg.yield %m : f16
  }
  return
}

// -----

#nhwc = affine_map<(n, h, w, c) -> (n, h, w, c)>
#image = affine_map<(n, h, w, f, c, y, x) -> (n, h + y, w + x, c)>
#filter = affine_map<(n, h, w, f, c, y, x) -> (f, c, y, x)>
#out = affine_map<(n, h, w, f, c, y, x) -> (n, h, w, f)>
#nchw = affine_map<(n, h, w, c) -> (n, c, h, w)>
#f = affine_map<(n, h, w, c) -> (c)>

// An image with the channels outside is brought into this order once, without its padding, which the convolution then reads
// around.
// CHECK-LABEL: func.func @channels_outside(
// CHECK: %[[IMAGE:.+]] = memref.alloc() : memref<2x28x28x64xf16>
// CHECK-NEXT: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic {{.+}} ins({{%.+}} : memref<2x64x28x28xf16>) outs(%[[IMAGE]] : memref<2x28x28x64xf16>)
// CHECK: "xyntra.yield"()
// CHECK: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic {{.+}} outs({{%.+}} : memref<2x30x30x64xf16>)
// CHECK: linalg.generic {{.+}} ins(%[[IMAGE]] : memref<2x28x28x64xf16>) outs({{%.+}} : memref<2x28x28x64xf16, strided
// CHECK: xyntra.anchor
// CHECK-NOT: "xyntra.stage"
// CHECK: return
func.func @channels_outside(%x: memref<2x64x28x28xf16>, %w: memref<64x64x3x3xf16>, %bias: memref<64xf32>, %y: memref<2x28x28x64xf16>) {
  %edge = arith.constant 0.0 : f16
  %zero = arith.constant 0.0 : f32
  %padded = memref.alloc() : memref<2x30x30x64xf16>
  linalg.generic {indexing_maps = [#nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%padded : memref<2x30x30x64xf16>) {
  ^bb0(%o: f16):
    linalg.yield %edge : f16
  }
  %middle = memref.subview %padded[0, 1, 1, 0] [2, 28, 28, 64] [1, 1, 1, 1] : memref<2x30x30x64xf16> to memref<2x28x28x64xf16, strided<[57600, 1920, 64, 1], offset: 1984>>
  linalg.generic {indexing_maps = [#nchw, #nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : memref<2x64x28x28xf16>) outs(%middle : memref<2x28x28x64xf16, strided<[57600, 1920, 64, 1], offset: 1984>>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  }
  %t = memref.alloc() : memref<2x28x28x64xf32>
  linalg.generic {indexing_maps = [#nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%t : memref<2x28x28x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#image, #filter, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%padded, %w : memref<2x30x30x64xf16>, memref<64x64x3x3xf16>) outs(%t : memref<2x28x28x64xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#nhwc, #f, #nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%t, %bias : memref<2x28x28x64xf32>, memref<64xf32>) outs(%y : memref<2x28x28x64xf16>) {
  ^bb0(%p: f32, %q: f32, %o: f16):
    %s = arith.addf %p, %q : f32
    %c = arith.constant 0.0 : f32
    %m = arith.maximumf %s, %c : f32
    %h = arith.truncf %m : f32 to f16
    linalg.yield %h : f16
  }
  return
}

// -----

#nhwc = affine_map<(n, h, w, c) -> (n, h, w, c)>
#image = affine_map<(n, h, w, f, c, y, x) -> (n, h + y, w + x, c)>
#filter = affine_map<(n, h, w, f, c, y, x) -> (f, c, y, x)>
#out = affine_map<(n, h, w, f, c, y, x) -> (n, h, w, f)>
#f = affine_map<(n, h, w, c) -> (c)>

// The image is overwritten before the convolution reads it: it is copied, though without its padding.
// CHECK-LABEL: func.func @overwritten(
// CHECK: linalg.generic {{.+}} ins({{%.+}} : memref<2x28x28x64xf16>) outs({{%.+}} : memref<2x28x28x64xf16>)
// CHECK: "xyntra.yield"()
// CHECK: memref.alloc() : memref<2x28x28x64xf32>
// CHECK-NEXT: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic {{.+}} outs({{%.+}} : memref<2x30x30x64xf16>)
// CHECK: xyntra.anchor
// CHECK: return
func.func @overwritten(%x: memref<2x28x28x64xf16>, %w: memref<64x64x3x3xf16>, %bias: memref<64xf32>, %y: memref<2x28x28x64xf16>) {
  %edge = arith.constant 0.0 : f16
  %zero = arith.constant 0.0 : f32
  %padded = memref.alloc() : memref<2x30x30x64xf16>
  linalg.generic {indexing_maps = [#nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%padded : memref<2x30x30x64xf16>) {
  ^bb0(%o: f16):
    linalg.yield %edge : f16
  }
  %middle = memref.subview %padded[0, 1, 1, 0] [2, 28, 28, 64] [1, 1, 1, 1] : memref<2x30x30x64xf16> to memref<2x28x28x64xf16, strided<[57600, 1920, 64, 1], offset: 1984>>
  linalg.generic {indexing_maps = [#nhwc, #nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : memref<2x28x28x64xf16>) outs(%middle : memref<2x28x28x64xf16, strided<[57600, 1920, 64, 1], offset: 1984>>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  }
  linalg.generic {indexing_maps = [#nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%x : memref<2x28x28x64xf16>) {
  ^bb0(%o: f16):
    linalg.yield %edge : f16
  }
  %t = memref.alloc() : memref<2x28x28x64xf32>
  linalg.generic {indexing_maps = [#nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%t : memref<2x28x28x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#image, #filter, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%padded, %w : memref<2x30x30x64xf16>, memref<64x64x3x3xf16>) outs(%t : memref<2x28x28x64xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#nhwc, #f, #nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%t, %bias : memref<2x28x28x64xf32>, memref<64xf32>) outs(%y : memref<2x28x28x64xf16>) {
  ^bb0(%p: f32, %q: f32, %o: f16):
    %s = arith.addf %p, %q : f32
    %c = arith.constant 0.0 : f32
    %m = arith.maximumf %s, %c : f32
    %h = arith.truncf %m : f32 to f16
    linalg.yield %h : f16
  }
  return
}

// -----

#nhwc = affine_map<(n, h, w, c) -> (n, h, w, c)>
#image = affine_map<(n, h, w, f, c, y, x) -> (n, h + y, w + x, c)>
#filter = affine_map<(n, h, w, f, c, y, x) -> (f, c, y, x)>
#out = affine_map<(n, h, w, f, c, y, x) -> (n, h, w, f)>
#f = affine_map<(n, h, w, c) -> (c)>

// Likewise where loops of any kind overwrite it.
// CHECK-LABEL: func.func @overwritten_by_loops(
// CHECK: linalg.generic {{.+}} ins({{%.+}} : memref<2x28x28x64xf16>) outs({{%.+}} : memref<2x28x28x64xf16>)
// CHECK: "xyntra.yield"()
// CHECK: memref.alloc() : memref<2x28x28x64xf32>
// CHECK-NEXT: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic {{.+}} outs({{%.+}} : memref<2x30x30x64xf16>)
// CHECK: xyntra.anchor
// CHECK: return
func.func @overwritten_by_loops(%x: memref<2x28x28x64xf16>, %w: memref<64x64x3x3xf16>, %bias: memref<64xf32>, %y: memref<2x28x28x64xf16>) {
  %edge = arith.constant 0.0 : f16
  %zero = arith.constant 0.0 : f32
  %padded = memref.alloc() : memref<2x30x30x64xf16>
  linalg.generic {indexing_maps = [#nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%padded : memref<2x30x30x64xf16>) {
  ^bb0(%o: f16):
    linalg.yield %edge : f16
  }
  %middle = memref.subview %padded[0, 1, 1, 0] [2, 28, 28, 64] [1, 1, 1, 1] : memref<2x30x30x64xf16> to memref<2x28x28x64xf16, strided<[57600, 1920, 64, 1], offset: 1984>>
  linalg.generic {indexing_maps = [#nhwc, #nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : memref<2x28x28x64xf16>) outs(%middle : memref<2x28x28x64xf16, strided<[57600, 1920, 64, 1], offset: 1984>>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c28 = arith.constant 28 : index
  scf.for %i = %c0 to %c28 step %c1 {
    memref.store %edge, %x[%c0, %i, %i, %c0] : memref<2x28x28x64xf16>
  }
  %t = memref.alloc() : memref<2x28x28x64xf32>
  linalg.generic {indexing_maps = [#nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%t : memref<2x28x28x64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#image, #filter, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%padded, %w : memref<2x30x30x64xf16>, memref<64x64x3x3xf16>) outs(%t : memref<2x28x28x64xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#nhwc, #f, #nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%t, %bias : memref<2x28x28x64xf32>, memref<64xf32>) outs(%y : memref<2x28x28x64xf16>) {
  ^bb0(%p: f32, %q: f32, %o: f16):
    %s = arith.addf %p, %q : f32
    %c = arith.constant 0.0 : f32
    %m = arith.maximumf %s, %c : f32
    %h = arith.truncf %m : f32 to f16
    linalg.yield %h : f16
  }
  return
}

