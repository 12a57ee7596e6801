// RUN: %xyntra-opt %s --form-contraction-stages --form-stages --fuse-column-slices --split-input-file | FileCheck %s
// RUN: not %xyntra-opt %s --form-contraction-stages --form-stages --fuse-column-slices=device=sm_91 --split-input-file 2>&1 | FileCheck %s --check-prefix=DEVICE

#mn = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// There is no such GPU.
// DEVICE: there is no GPU 'sm_91'
// The second slice starts at column 96, in the middle of what a warpgroup writes.
// CHECK-LABEL: func.func @middle_of_64(
// CHECK: "xyntra.stage"() ({
// CHECK: xyntra.anchor
// CHECK-NOT: strided
// CHECK: "xyntra.yield"()
// CHECK-COUNT-2: "xyntra.stage"() ({
// CHECK: return
func.func @middle_of_64(%x: memref<512x768xf16>, %weight: memref<768x192xf16>, %queries: memref<512x96xf16>, %keys: memref<512x96xf16>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<512x192xf32>
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%t : memref<512x192xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %weight : memref<512x768xf16>, memref<768x192xf16>) outs(%t : memref<512x192xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %l = arith.extf %p : f16 to f32
    %r = arith.extf %q : f16 to f32
    %f = arith.mulf %l, %r : f32
    %s = arith.addf %o, %f : f32
    linalg.yield %s : f32
  }
  %queries_columns = memref.subview %t[0, 0] [512, 96] [1, 1] : memref<512x192xf32> to memref<512x96xf32, strided<[192, 1]>>
  linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%queries_columns : memref<512x96xf32, strided<[192, 1]>>) outs(%queries : memref<512x96xf16>) {
  ^bb0(%p: f32, %o: f16):
    %h = arith.truncf %p : f32 to f16
    linalg.yield %h : f16
  }
  %keys_columns = memref.subview %t[0, 96] [512, 96] [1, 1] : memref<512x192xf32> to memref<512x96xf32, strided<[192, 1], offset: 96>>
  linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%keys_columns : memref<512x96xf32, strided<[192, 1], offset: 96>>) outs(%keys : memref<512x96xf16>) {
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

// Columns that no slice takes: what there is to store would be lost.
// CHECK-LABEL: func.func @columns_are_left(
// CHECK: "xyntra.stage"() ({
// CHECK: xyntra.anchor
// CHECK-NOT: strided
// CHECK: "xyntra.yield"()
// CHECK-COUNT-2: "xyntra.stage"() ({
// CHECK: return
func.func @columns_are_left(%x: memref<512x768xf16>, %weight: memref<768x2304xf16>, %queries: memref<512x768xf16>, %keys: memref<512x768xf16>) {
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
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Slices that overlap.
// CHECK-LABEL: func.func @overlap(
// CHECK: "xyntra.stage"() ({
// CHECK: xyntra.anchor
// CHECK-NOT: strided
// CHECK: "xyntra.yield"()
// CHECK-COUNT-2: "xyntra.stage"() ({
// CHECK: return
func.func @overlap(%x: memref<512x768xf16>, %weight: memref<768x1024xf16>, %queries: memref<512x768xf16>, %keys: memref<512x512xf16>) {
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
  %keys_columns = memref.subview %t[0, 512] [512, 512] [1, 1] : memref<512x1024xf32> to memref<512x512xf32, strided<[1024, 1], offset: 512>>
  linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%keys_columns : memref<512x512xf32, strided<[1024, 1], offset: 512>>) outs(%keys : memref<512x512xf16>) {
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

// A factor of the product is overwritten between two slices, so that it cannot move behind that.
// CHECK-LABEL: func.func @overwritten(
// CHECK: "xyntra.stage"() ({
// CHECK: xyntra.anchor
// CHECK-NOT: strided
// CHECK: "xyntra.yield"()
// CHECK-COUNT-3: "xyntra.stage"() ({
// CHECK: return
func.func @overwritten(%x: memref<512x768xf16>, %weight: memref<768x2304xf16>, %queries: memref<512x768xf16>, %keys: memref<512x768xf16>, %values: memref<512x768xf16>) {
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
  %half = arith.constant 0.5 : f16
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]}
      outs(%x : memref<512x768xf16>) {
  ^bb0(%o: f16):
    linalg.yield %half : f16
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

// A lookup between two slices reads what the first of them writes, which cannot move behind it.
// CHECK-LABEL: func.func @looked_up(
// CHECK: "xyntra.stage"() ({
// CHECK: xyntra.anchor
// CHECK-NOT: strided
// CHECK: "xyntra.yield"()
// CHECK-COUNT-3: "xyntra.stage"() ({
// CHECK: return
func.func @looked_up(%x: memref<512x768xf16>, %weight: memref<768x1024xf16>, %queries: memref<512x768xf16>, %keys: memref<512x256xf16>, %at: memref<32xindex>, %z: memref<32xf16>) {
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
      ins(%at : memref<32xindex>) outs(%z : memref<32xf16>) {
  ^bb0(%p: index, %o: f16):
    %h = memref.load %queries[%p, %p] : memref<512x768xf16>
    linalg.yield %h : f16
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
#m = affine_map<(m, n) -> (m)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#i = affine_map<(i) -> (i)>

// Somebody else reads all columns of the product, too, as they are.
// CHECK-LABEL: func.func @read_whole(
// CHECK: "xyntra.stage"() ({
// CHECK: xyntra.anchor
// CHECK-NOT: strided
// CHECK: "xyntra.yield"()
// CHECK-COUNT-1: "xyntra.stage"() ({
// CHECK: return
func.func @read_whole(%x: memref<512x768xf16>, %weight: memref<768x2304xf16>, %queries: memref<512x768xf16>, %keys: memref<512x768xf16>, %values: memref<512x768xf16>, %sums: memref<512xf32>) {
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
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]}
      outs(%sums : memref<512xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#mn, #m], iterator_types = ["parallel", "reduction"]}
      ins(%t : memref<512x2304xf32>) outs(%sums : memref<512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#n = affine_map<(m, n) -> (n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Each column with the one behind it: as halves, all but two would be computed twice.
// CHECK-LABEL: func.func @neighbours(
// CHECK: "xyntra.stage"() ({
// CHECK: xyntra.anchor
// CHECK: "xyntra.yield"()
// CHECK-COUNT-1: "xyntra.stage"() ({
// CHECK: return
func.func @neighbours(%x: memref<512x768xf16>, %weight: memref<768x2560xf16>, %bias: memref<2560xf16>, %y: memref<512x2559xf16>) {
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
  %gate = memref.subview %t[0, 0] [512, 2559] [1, 1] : memref<512x2560xf32> to memref<512x2559xf32, strided<[2560, 1]>>
  %up = memref.subview %t[0, 1] [512, 2559] [1, 1] : memref<512x2560xf32> to memref<512x2559xf32, strided<[2560, 1], offset: 1>>
  linalg.generic {indexing_maps = [#mn, #mn, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%gate, %up : memref<512x2559xf32, strided<[2560, 1]>>, memref<512x2559xf32, strided<[2560, 1], offset: 1>>) outs(%y : memref<512x2559xf16>) {
  ^bb0(%p: f32, %q: f32, %o: f16):
    %s = arith.mulf %p, %q : f32
    %r = arith.truncf %s : f32 to f16
    linalg.yield %r : f16
  }
  return
}
