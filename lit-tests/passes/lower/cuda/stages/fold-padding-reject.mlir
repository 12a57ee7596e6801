// RUN: %xyntra-opt %s --form-contraction-stages --form-stages --fold-padding --split-input-file | FileCheck %s
// RUN: not %xyntra-opt %s --form-contraction-stages --form-stages --fold-padding=device=sm_91 --split-input-file 2>&1 | FileCheck %s --check-prefix=DEVICE

#nhwc = affine_map<(n, h, w, c) -> (n, h, w, c)>
#image = affine_map<(n, h, w, f, c, y, x) -> (n, h + y, w + x, c)>
#filter = affine_map<(n, h, w, f, c, y, x) -> (f, c, y, x)>
#out = affine_map<(n, h, w, f, c, y, x) -> (n, h, w, f)>
#f = affine_map<(n, h, w, c) -> (c)>

// There is no such GPU.
// DEVICE: there is no GPU 'sm_91'
// Padding that somebody else reads, too, has to be stored.
// CHECK-LABEL: func.func @read_again(
// CHECK: linalg.generic {{.+}} ins({{%.+}} : memref<2x{{28x28x64|64x28x28}}xf16>) outs({{%.+}} : memref<2x28x28x64xf16, strided
// CHECK: "xyntra.yield"()
// CHECK: memref.alloc() : memref<2x28x28x64xf32>
// CHECK-NEXT: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic {{.+}} outs({{%.+}} : memref<2x28x28x64xf32>)
// CHECK: xyntra.anchor
// CHECK: return
func.func @read_again(%x: memref<2x28x28x64xf16>, %w: memref<64x64x3x3xf16>, %bias: memref<64xf32>, %y: memref<2x28x28x64xf16>, %kept: memref<2x30x30x64xf16>) {
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
  linalg.generic {indexing_maps = [#nhwc, #nhwc], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%padded : memref<2x30x30x64xf16>) outs(%kept : memref<2x30x30x64xf16>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  }
  return
}

// -----

#nhwc = affine_map<(n, h, w, c) -> (n, h, w, c)>
#image = affine_map<(n, h, w, f, c, y, x) -> (n, h + y, w + x, c)>
#filter = affine_map<(n, h, w, f, c, y, x) -> (f, c, y, x)>
#out = affine_map<(n, h, w, f, c, y, x) -> (n, h, w, f)>
#f = affine_map<(n, h, w, c) -> (c)>

// Zeros stand around what a convolution reads, and these are ones.
// CHECK-LABEL: func.func @ones(
// CHECK: linalg.generic {{.+}} ins({{%.+}} : memref<2x{{28x28x64|64x28x28}}xf16>) outs({{%.+}} : memref<2x28x28x64xf16, strided
// CHECK: "xyntra.yield"()
// CHECK: memref.alloc() : memref<2x28x28x64xf32>
// CHECK-NEXT: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic {{.+}} outs({{%.+}} : memref<2x28x28x64xf32>)
// CHECK: xyntra.anchor
// CHECK: return
func.func @ones(%x: memref<2x28x28x64xf16>, %w: memref<64x64x3x3xf16>, %bias: memref<64xf32>, %y: memref<2x28x28x64xf16>) {
  %edge = arith.constant 1.0 : f16
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
