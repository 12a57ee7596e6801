// RUN: %xyntra-opt %s --schedule-nests --register-tiles | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: %xyntra-opt %s --schedule-nests=vector-bits=512,vector-registers=32 --register-tiles | FileCheck %s --check-prefixes=CHECK,AVX512

#none = affine_map<(m, n) -> ()>
#out = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Accumulators are vectors that start from the fill's value; the fill itself disappears.
// CHECK-LABEL: func.func @matmul(
// CHECK: [[START:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NOT: linalg.generic
// AVX2: [[ACC:%.+]] = vector.broadcast [[START]] : f32 to vector<8xf32>
// AVX512: [[ACC:%.+]] = vector.broadcast [[START]] : f32 to vector<16xf32>
// CHECK: scf.for {{.+}} iter_args({{.*}}[[ACC]]
// CHECK-NOT: vector.store
// CHECK: scf.yield {{.*}}vector<{{8|16}}xf32>
// CHECK: vector.store
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @matmul(%a: memref<64x64xf32>, %b: memref<64x64xf32>, %c: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#none, #out], iterator_types = ["parallel", "parallel"]}
      ins(%zero : f32) outs(%c : memref<64x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x64xf32>, memref<64x64xf32>) outs(%c : memref<64x64xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}

#row = affine_map<(m, n) -> (n)>

// What follows element by element is done in registers; the product needs no memory.
// CHECK-LABEL: func.func @with_bias(
// CHECK-SAME: [[D:%[a-z0-9]+]]: memref<64x64xf32>)
// CHECK-NOT: linalg.generic
// CHECK: [[SUM:%.+]]:{{.+}} = scf.for
// CHECK: [[V:%.+]] = vector.load {{.+}} : memref<64xf32>, vector<{{8|16}}xf32>
// CHECK: arith.addf [[SUM]]#0, [[V]]
// CHECK: vector.store {{.+}} : memref<4096xf32>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @with_bias(%a: memref<64x64xf32>, %b: memref<64x64xf32>, %v: memref<64xf32>, %d: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc() : memref<64x64xf32>
  linalg.generic {indexing_maps = [#none, #out], iterator_types = ["parallel", "parallel"]}
      ins(%zero : f32) outs(%c : memref<64x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x64xf32>, memref<64x64xf32>) outs(%c : memref<64x64xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#out, #row, #out], iterator_types = ["parallel", "parallel"]}
      ins(%c, %v : memref<64x64xf32>, memref<64xf32>) outs(%d : memref<64x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  }
  return
}

// A constant is copied into panels by a function of its own, which takes the kernel's arguments.
// CHECK-LABEL: func.func @constant.prepare(
// CHECK-SAME: [[TO:%[a-z0-9]+]]: memref<{{[0-9]+}}xf32>)
// CHECK-SAME: xyntra.prepare, xyntra.prepared = array<i64: {{[0-9]+}}>
// CHECK: vector.store {{.+}}, [[TO]]
// CHECK-LABEL: func.func @constant(
// CHECK-SAME: [[PANELS:%[a-z0-9]+]]: memref<{{[0-9]+}}xf32>)
// CHECK-SAME: xyntra.prepared = array
// CHECK-NOT: memref.alloc
// CHECK: vector.load [[PANELS]]
// CHECK: return
func.func @constant(%a: memref<64x64xf32>, %b: memref<64x64xf32> {xyntra.constant}, %c: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#none, #out], iterator_types = ["parallel", "parallel"]}
      ins(%zero : f32) outs(%c : memref<64x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x64xf32>, memref<64x64xf32>) outs(%c : memref<64x64xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}

// A long reduction is done in parts, between which sums wait in memory.
// CHECK-LABEL: func.func @long(
// CHECK-SAME: [[C:%[a-z0-9]+]]: memref<32x32xf32>)
// CHECK: [[WAITING:%.+]] = memref.alloc() : memref<{{[0-9]+}}xf32>
// CHECK: [[SUMS:%.+]]:{{[0-9]+}} = scf.if
// CHECK: vector.load [[WAITING]]
// CHECK: scf.for {{.+}} iter_args({{.*}}[[SUMS]]#0
// CHECK: scf.if
// CHECK: } else {
// CHECK: vector.store {{.+}}, [[WAITING]]
func.func @long(%a: memref<32x8192xf32>, %b: memref<8192x32xf32>, %c: memref<32x32xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#none, #out], iterator_types = ["parallel", "parallel"]}
      ins(%zero : f32) outs(%c : memref<32x32xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<32x8192xf32>, memref<8192x32xf32>) outs(%c : memref<32x32xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}

// One row by a large matrix: the matrix is read in the order in which it lies in memory, in parts
// whose sums are added at the end.
// CHECK-LABEL: func.func @vector(
// CHECK-SAME: [[A:%[a-z0-9]+]]: memref<1x1024xf32>, [[B:%[a-z0-9]+]]: memref<1024x1024xf32>
// CHECK: [[SUMS:%.+]] = memref.alloc() : memref<{{[0-9]+}}xf32>
// CHECK-NOT: linalg.generic
// CHECK: scf.for
// CHECK-COUNT-4: memref.load {{.+}} : memref<1024xf32>
// CHECK: scf.for
// CHECK: vector.load [[SUMS]]
// CHECK-COUNT-4: vector.load {{.+}} : memref<1048576xf32>
// CHECK: vector.store {{.+}}, [[SUMS]]
// CHECK: xyntra.parallel
// CHECK: return
func.func @vector(%a: memref<1x1024xf32>, %b: memref<1024x1024xf32>, %c: memref<1x1024xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#none, #out], iterator_types = ["parallel", "parallel"]}
      ins(%zero : f32) outs(%c : memref<1x1024xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<1x1024xf32>, memref<1024x1024xf32>) outs(%c : memref<1x1024xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  }
  return
}
