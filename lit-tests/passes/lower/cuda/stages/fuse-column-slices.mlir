// RUN: %xyntra-opt %s --form-contraction-stages --form-stages --fuse-column-slices --split-input-file | FileCheck %s

#mn = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Queries, keys and values are columns side by side of one product. What rounds each of them to memory of
// its own was a launch, and joins the product, which then need not store its sums.
// CHECK-LABEL: func.func @projections(
// CHECK: "xyntra.stage"() ({
// CHECK: xyntra.anchor
// CHECK: linalg.generic {{.+}} ins({{%.+}} : memref<512x768xf32, strided<[2304, 1]>>)
// CHECK: linalg.generic {{.+}} ins({{%.+}} : memref<512x768xf32, strided<[2304, 1], offset: 768>>)
// CHECK: linalg.generic {{.+}} ins({{%.+}} : memref<512x768xf32, strided<[2304, 1], offset: 1536>>)
// CHECK: "xyntra.yield"()
// CHECK-NEXT: }) : () -> ()
// CHECK-NEXT: return
func.func @projections(%x: memref<512x768xf16>, %weight: memref<768x2304xf16>, %queries: memref<512x768xf16>, %keys: memref<512x768xf16>, %values: memref<512x768xf16>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<512x2304xf32>
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%t : memref<512x2304xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %weight : memref<512x768xf16>, memref<768x2304xf16>) outs(%t : memref<512x2304xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  %queries_columns = memref.subview %t[0, 0] [512, 768] [1, 1] : memref<512x2304xf32> to memref<512x768xf32, strided<[2304, 1]>>
  linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%queries_columns : memref<512x768xf32, strided<[2304, 1]>>) outs(%queries : memref<512x768xf16>) {
  ^bb0(%p: f32, %o: f16):
    %h = arith.truncf %p : f32 to f16
    linalg.yield %h : f16
  }
  %keys_columns = memref.subview %t[0, 768] [512, 768] [1, 1] : memref<512x2304xf32> to memref<512x768xf32, strided<[2304, 1], offset: 768>>
  linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%keys_columns : memref<512x768xf32, strided<[2304, 1], offset: 768>>) outs(%keys : memref<512x768xf16>) {
  ^bb0(%p: f32, %o: f16):
    %h = arith.truncf %p : f32 to f16
    linalg.yield %h : f16
  }
  %values_columns = memref.subview %t[0, 1536] [512, 768] [1, 1] : memref<512x2304xf32> to memref<512x768xf32, strided<[2304, 1], offset: 1536>>
  linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%values_columns : memref<512x768xf32, strided<[2304, 1], offset: 1536>>) outs(%values : memref<512x768xf16>) {
  ^bb0(%p: f32, %o: f16):
    %h = arith.truncf %p : f32 to f16
    linalg.yield %h : f16
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#i = affine_map<(i) -> (i)>

// Slices may be of different widths, and loops between them that have nothing to do with the product may
// stay where they are.
// CHECK-LABEL: func.func @widths(
// CHECK: "xyntra.stage"() ({
// CHECK: arith.negf
// CHECK: "xyntra.stage"() ({
// CHECK: xyntra.anchor
// CHECK: ins({{%.+}} : memref<512x768xf32, strided<[1024, 1]>>)
// CHECK: ins({{%.+}} : memref<512x256xf32, strided<[1024, 1], offset: 768>>)
// CHECK: "xyntra.yield"()
// CHECK-NEXT: }) : () -> ()
// CHECK-NEXT: return
func.func @widths(%x: memref<512x768xf16>, %weight: memref<768x1024xf16>, %queries: memref<512x768xf16>, %keys: memref<512x256xf16>, %u: memref<32xf32>, %z: memref<32xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<512x1024xf32>
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%t : memref<512x1024xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %weight : memref<512x768xf16>, memref<768x1024xf16>) outs(%t : memref<512x1024xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  %queries_columns = memref.subview %t[0, 0] [512, 768] [1, 1] : memref<512x1024xf32> to memref<512x768xf32, strided<[1024, 1]>>
  linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%queries_columns : memref<512x768xf32, strided<[1024, 1]>>) outs(%queries : memref<512x768xf16>) {
  ^bb0(%p: f32, %o: f16):
    %h = arith.truncf %p : f32 to f16
    linalg.yield %h : f16
  }
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%u : memref<32xf32>) outs(%z : memref<32xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.negf %p : f32
    linalg.yield %s : f32
  }
  %keys_columns = memref.subview %t[0, 768] [512, 256] [1, 1] : memref<512x1024xf32> to memref<512x256xf32, strided<[1024, 1], offset: 768>>
  linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%keys_columns : memref<512x256xf32, strided<[1024, 1], offset: 768>>) outs(%keys : memref<512x256xf16>) {
  ^bb0(%p: f32, %o: f16):
    %h = arith.truncf %p : f32 to f16
    linalg.yield %h : f16
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#n = affine_map<(m, n) -> (n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// A gate and what it multiplies are columns of one product, a fixed distance apart: one launch has both.
// CHECK-LABEL: func.func @gate(
// CHECK: "xyntra.stage"() ({
// CHECK: xyntra.anchor
// CHECK: arith.mulf %{{.+}}, %{{.+}} : f32
// CHECK: arith.mulf
// CHECK: "xyntra.yield"()
// CHECK-NEXT: }) : () -> ()
// CHECK-NEXT: return
func.func @gate(%x: memref<512x768xf16>, %weight: memref<768x2560xf16>, %bias: memref<2560xf16>, %y: memref<512x1280xf16>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<512x2560xf32>
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%t : memref<512x2560xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %weight : memref<512x768xf16>, memref<768x2560xf16>) outs(%t : memref<512x2560xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  %gate = memref.subview %t[0, 0] [512, 1280] [1, 1] : memref<512x2560xf32> to memref<512x1280xf32, strided<[2560, 1]>>
  %up = memref.subview %t[0, 1280] [512, 1280] [1, 1] : memref<512x2560xf32> to memref<512x1280xf32, strided<[2560, 1], offset: 1280>>
  linalg.generic {indexing_maps = [#mn, #mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%gate, %up : memref<512x1280xf32, strided<[2560, 1]>>, memref<512x1280xf32, strided<[2560, 1], offset: 1280>>) outs(%y : memref<512x1280xf16>) {
  ^bb0(%p: f32, %q: f32, %o: f16):
    %s = arith.mulf %p, %q : f32
    %r = arith.truncf %s : f32 to f16
    linalg.yield %r : f16
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#n = affine_map<(m, n) -> (n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// So it is with a large product, whose sums in f32 would take longer to store and read than narrower tiles do.
// CHECK-LABEL: func.func @large_gate(
// CHECK: "xyntra.stage"() ({
// CHECK: xyntra.anchor
// CHECK: arith.mulf %{{.+}}, %{{.+}} : f32
// CHECK: arith.mulf
// CHECK: "xyntra.yield"()
// CHECK-NEXT: }) : () -> ()
// CHECK-NEXT: return
func.func @large_gate(%x: memref<2308x2048xf16>, %weight: memref<2048x16384xf16>, %bias: memref<16384xf16>, %y: memref<2308x8192xf16>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<2308x16384xf32>
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%t : memref<2308x16384xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %weight : memref<2308x2048xf16>, memref<2048x16384xf16>) outs(%t : memref<2308x16384xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  %gate = memref.subview %t[0, 0] [2308, 8192] [1, 1] : memref<2308x16384xf32> to memref<2308x8192xf32, strided<[16384, 1]>>
  %up = memref.subview %t[0, 8192] [2308, 8192] [1, 1] : memref<2308x16384xf32> to memref<2308x8192xf32, strided<[16384, 1], offset: 8192>>
  linalg.generic {indexing_maps = [#mn, #mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%gate, %up : memref<2308x8192xf32, strided<[16384, 1]>>, memref<2308x8192xf32, strided<[16384, 1], offset: 8192>>) outs(%y : memref<2308x8192xf16>) {
  ^bb0(%p: f32, %q: f32, %o: f16):
    %s = arith.mulf %p, %q : f32
    %r = arith.truncf %s : f32 to f16
    linalg.yield %r : f16
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#n = affine_map<(m, n) -> (n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// What is done to all columns before that, such as adding a bias and rounding, stays part of the launch.
// The distance may be any.
// CHECK-LABEL: func.func @biased_gate(
// CHECK: "xyntra.stage"() ({
// CHECK: xyntra.anchor
// CHECK: arith.mulf %{{.+}}, %{{.+}} : f32
// CHECK: arith.mulf
// CHECK: "xyntra.yield"()
// CHECK-NEXT: }) : () -> ()
// CHECK-NEXT: return
func.func @biased_gate(%x: memref<512x768xf16>, %weight: memref<768x2560xf16>, %bias: memref<2560xf16>, %y: memref<512x1260xf16>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<512x2560xf32>
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%t : memref<512x2560xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %weight : memref<512x768xf16>, memref<768x2560xf16>) outs(%t : memref<512x2560xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  %h = memref.alloc() : memref<512x2560xf16>
  linalg.generic {indexing_maps = [#mn, #n, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%t, %bias : memref<512x2560xf32>, memref<2560xf16>) outs(%h : memref<512x2560xf16>) {
  ^bb0(%p: f32, %q: f16, %o: f16):
    %r = arith.truncf %p : f32 to f16
    %s = arith.addf %r, %q : f16
    linalg.yield %s : f16
  }
  %gate = memref.subview %h[0, 0] [512, 1260] [1, 1] : memref<512x2560xf16> to memref<512x1260xf16, strided<[2560, 1]>>
  %up = memref.subview %h[0, 1300] [512, 1260] [1, 1] : memref<512x2560xf16> to memref<512x1260xf16, strided<[2560, 1], offset: 1300>>
  linalg.generic {indexing_maps = [#mn, #mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%gate, %up : memref<512x1260xf16, strided<[2560, 1]>>, memref<512x1260xf16, strided<[2560, 1], offset: 1300>>) outs(%y : memref<512x1260xf16>) {
  ^bb0(%p: f16, %q: f16, %o: f16):
    %s = arith.mulf %p, %q : f16
    linalg.yield %s : f16
  }
  return
}
