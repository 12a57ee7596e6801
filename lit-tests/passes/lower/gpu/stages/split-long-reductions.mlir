// RUN: %xyntra-opt %s --split-long-reductions --split-input-file | FileCheck %s

#i = affine_map<(i) -> (i)>
#one = affine_map<(m, k) -> (m)>
#all = affine_map<(m, k) -> (m, k)>

// Four rows would keep four blocks busy for long. In 64 parts each they keep 256 of them, two for most
// multiprocessors; then four blocks add up what these give.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<4x1048576xf32>, [[Y:%[a-z0-9]+]]: memref<4xf32>)
// CHECK: [[SUMS:%.+]] = memref.alloc() : memref<4x64xf32>
// CHECK: linalg.generic {{.+}} outs([[SUMS]] : {{.+}}) attrs = {xyntra.split}
// CHECK: [[PARTS:%.+]] = memref.reinterpret_cast [[X]] {{.+}} to memref<4x64x16384xf32, strided<[1048576, 16384, 1]>>
// CHECK: linalg.generic {{.+}} iterator_types = ["parallel", "parallel", "reduction"]} ins([[PARTS]] : {{.+}}) outs([[SUMS]] : {{.+}}) attrs = {xyntra.split}
// CHECK: linalg.generic {{.+}} outs([[Y]] :
// CHECK: linalg.generic {{.+}} iterator_types = ["parallel", "reduction"]} ins([[SUMS]] : {{.+}}) outs([[Y]] :
// CHECK: return
func.func @rows(%x: memref<4x1048576xf32>, %y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]}
      outs(%y : memref<4xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#all, #one], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x1048576xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#i = affine_map<(i) -> (i)>
#one = affine_map<(m, k) -> (m)>
#all = affine_map<(m, k) -> (m, k)>

// What is left behind equal parts, which start where vectors can, is added at the end: 1000003 is a
// prime.
// CHECK-LABEL: func.func @rest(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<1x1000003xf32>, [[Y:%[a-z0-9]+]]: memref<1xf32>)
// CHECK: [[SUMS:%.+]] = memref.alloc() : memref<1x264xf32>
// CHECK: linalg.generic {{.+}} ins({{%.+}} : memref<1x264x3784xf32, strided<[1000003, 3784, 1]>>) outs([[SUMS]] :
// CHECK: linalg.generic {{.+}} ins([[SUMS]] : {{.+}}) outs([[Y]] :
// CHECK: [[REST:%.+]] = memref.reinterpret_cast [[X]] to offset: [998976], sizes: [1, 1027]
// CHECK: linalg.generic {{.+}} ins([[REST]] : {{.+}}) outs([[Y]] :
// CHECK: return
func.func @rest(%x: memref<1x1000003xf32>, %y: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]}
      outs(%y : memref<1xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#all, #one], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<1x1000003xf32>) outs(%y : memref<1xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#i = affine_map<(i) -> (i)>
#down = affine_map<(n, k) -> (k, n)>
#col = affine_map<(n, k) -> (n)>

// Of columns, parts lie one behind the other, so that what they give is read along columns, too. The
// parts of a maximum start from the least element.
// CHECK-LABEL: func.func @columns(
// CHECK: [[PARTS:%.+]] = memref.alloc() : memref<{{[0-9]+}}x64xf32>
// CHECK: linalg.generic {{.+}} iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK: arith.maximumf
// CHECK: linalg.generic {{.+}} iterator_types = ["reduction", "parallel"]} ins([[PARTS]] :
// CHECK: arith.maximumf
// CHECK: return
func.func @columns(%x: memref<65536x64xf32>, %y: memref<64xf32>) {
  %least = arith.constant 0xFF800000 : f32
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]}
      outs(%y : memref<64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %least : f32
  }
  linalg.generic {indexing_maps = [#down, #col], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<65536x64xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.maximumf %o, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#m = affine_map<(m, n) -> (m)>
#i = affine_map<(i) -> (i)>
#one = affine_map<(m, k) -> (m)>
#all = affine_map<(m, k) -> (m, k)>

// Rows that no launch can hold are split, too, where something else reads them.
// CHECK-LABEL: func.func @shared_rows(
// CHECK: memref.alloc() : memref<4x64xf32>
// CHECK-COUNT-5: linalg.generic
func.func @shared_rows(%x: memref<4x1048576xf32>, %y: memref<4xf32>, %z: memref<4x1048576xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]}
      outs(%y : memref<4xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#all, #one], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x1048576xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#mn, #m, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : memref<4x1048576xf32>, memref<4xf32>) outs(%z : memref<4x1048576xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.divf %p, %q : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#x = affine_map<(a, b, c, d) -> (a, b, c, d)>
#y = affine_map<(a, b, c, d) -> (b)>
#i = affine_map<(i) -> (i)>

// Loops that reduce neighbours are one loop before they are cut, in parts of 14 rows of an image.
// CHECK-LABEL: func.func @images(
// CHECK: memref.alloc() : memref<16x14xf32>
// CHECK: memref.reinterpret_cast {{.+}} to memref<64x16x14x2744xf32, strided<[614656, 38416, 2744, 1]>>
// CHECK: linalg.generic {{.+}} iterator_types = ["parallel", "parallel", "reduction", "reduction"]
func.func @images(%x: memref<64x16x196x196xf32>, %y: memref<16xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]} outs(%y : memref<16xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#x, #y], iterator_types = ["reduction", "parallel", "reduction", "reduction"]}
      ins(%x : memref<64x16x196x196xf32>) outs(%y : memref<16xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#i = affine_map<(i) -> (i)>
#down = affine_map<(n, k) -> (k, n)>
#col = affine_map<(n, k) -> (n)>

// Three columns are little work, but the threads of one block would wait for memory 32 times: another
// launch takes less.
// CHECK-LABEL: func.func @few_columns(
// CHECK: memref.alloc() : memref<32x3xf32>
// CHECK: linalg.generic {{.+}} iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK: linalg.generic {{.+}} iterator_types = ["reduction", "parallel"]} ins({{%.+}} : memref<32x3xf32>)
func.func @few_columns(%x: memref<8192x3xf32>, %y: memref<3xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]} outs(%y : memref<3xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#down, #col], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<8192x3xf32>) outs(%y : memref<3xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  return
}
