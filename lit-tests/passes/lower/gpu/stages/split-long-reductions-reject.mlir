// RUN: %xyntra-opt %s --split-long-reductions --split-input-file | FileCheck %s
// RUN: not %xyntra-opt %s --split-long-reductions=device=sm_91 --split-input-file 2>&1 | FileCheck %s --check-prefix=DEVICE

#i = affine_map<(i) -> (i)>
#one = affine_map<(m, k) -> (m)>
#all = affine_map<(m, k) -> (m, k)>

// There is no such GPU.
// DEVICE: there is no GPU 'sm_91'
// Four rows of 65535 elements are done before a second launch has started.
// CHECK-LABEL: func.func @short(
// CHECK-NOT: memref.alloc
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @short(%x: memref<4x65535xf32>, %y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]}
      outs(%y : memref<4xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#all, #one], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x65535xf32>) outs(%y : memref<4xf32>) {
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

// Rows for every multiprocessor have work for the whole GPU.
// CHECK-LABEL: func.func @many_rows(
// CHECK-NOT: memref.alloc
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @many_rows(%x: memref<1024x65536xf32>, %y: memref<1024xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]}
      outs(%y : memref<1024xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#all, #one], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<1024x65536xf32>) outs(%y : memref<1024xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
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

// What reads the rows again may share them with the reduction in one launch.
// CHECK-LABEL: func.func @shared_rows(
// CHECK-NOT: memref.alloc
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @shared_rows(%x: memref<4x262144xf32>, %y: memref<4xf32>, %z: memref<4x262144xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]}
      outs(%y : memref<4xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#all, #one], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x262144xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#mn, #m, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : memref<4x262144xf32>, memref<4xf32>) outs(%z : memref<4x262144xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.divf %p, %q : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#i = affine_map<(i) -> (i)>
#one = affine_map<(m, k) -> (m)>
#all = affine_map<(m, k) -> (m, k)>

// Parts of a running difference cannot be put together.
// CHECK-LABEL: func.func @difference(
// CHECK-NOT: memref.alloc
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @difference(%x: memref<4x1048576xf32>, %y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]}
      outs(%y : memref<4xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#all, #one], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x1048576xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.subf %o, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#i = affine_map<(i) -> (i)>
#down = affine_map<(n, k) -> (k, n)>
#col = affine_map<(n, k) -> (n)>

// Columns of 3072 elements take the threads of a block no longer than another launch.
// CHECK-LABEL: func.func @short_columns(
// CHECK-NOT: memref.alloc
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @short_columns(%x: memref<3072x3xf32>, %y: memref<3xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]} outs(%y : memref<3xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#down, #col], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<3072x3xf32>) outs(%y : memref<3xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  return
}
