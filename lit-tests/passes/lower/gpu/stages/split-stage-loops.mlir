// RUN: %xyntra-opt %s --form-stages --split-stage-loops --split-input-file | FileCheck %s

#out = affine_map<(n, h, w, c) -> (n, h, w, c)>
#half = affine_map<(n, h, w, c) -> (n, c, h floordiv 2, w floordiv 2)>

// An image is enlarged: a loop for every digit of rows and columns makes all accesses linear. The
// view of the result is made before the stage.
// CHECK-LABEL: func.func @enlarged(
// CHECK: [[Y:%.+]] = memref.expand_shape {{%.+}} {{.+}} : memref<1x8x6x16xf16> into memref<1x4x2x3x2x16xf16>
// CHECK-NEXT: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic
// CHECK-SAME: outs([[Y]] : memref<1x4x2x3x2x16xf16>)
// CHECK: "xyntra.yield"
func.func @enlarged(%x: memref<1x16x4x3xf16>, %y: memref<1x8x6x16xf16>) {
  linalg.generic {indexing_maps = [#half, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : memref<1x16x4x3xf16>) outs(%y : memref<1x8x6x16xf16>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  }
  return
}

// -----

#out = affine_map<(h, c) -> (h, c)>
#group = affine_map<(h, c) -> (h floordiv 4, c)>

// The result may be a part of a larger buffer.
// CHECK-LABEL: func.func @in_the_middle(
// CHECK: memref.subview
// CHECK: memref.expand_shape {{.+}} into memref<2x4x8xf32, strided<[32, 8, 1], offset: 8>>
// CHECK: linalg.generic {{.+}} iterator_types = ["parallel", "parallel", "parallel"]
func.func @in_the_middle(%x: memref<2x8xf32>, %y: memref<10x8xf32>) {
  %middle = memref.subview %y[1, 0] [8, 8] [1, 1] : memref<10x8xf32> to memref<8x8xf32, strided<[8, 1], offset: 8>>
  linalg.generic {indexing_maps = [#group, #out], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<2x8xf32>) outs(%middle : memref<8x8xf32, strided<[8, 1], offset: 8>>) {
  ^bb0(%p: f32, %o: f32):
    %r = arith.negf %p : f32
    linalg.yield %r : f32
  }
  return
}
