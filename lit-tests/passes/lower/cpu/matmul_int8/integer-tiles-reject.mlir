// RUN: %xyntra-opt %s --schedule-nests=dot-products=pmaddwd --integer-tiles | FileCheck %s
// RUN: %xyntra-opt %s --schedule-nests --integer-tiles | FileCheck %s

#none = affine_map<(m, n) -> ()>
#out = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Elements of 32 bits are not narrow.
// CHECK-LABEL: func.func @wide(
// CHECK-COUNT-2: linalg.generic
func.func @wide(%a: memref<64x64xi32>, %b: memref<64x64xi8>, %c: memref<64x64xi32>) {
  %zero = arith.constant 0 : i32
  linalg.generic {indexing_maps = [#none, #out], iterator_types = ["parallel", "parallel"]}
      ins(%zero : i32) outs(%c : memref<64x64xi32>) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x64xi32>, memref<64x64xi8>) outs(%c : memref<64x64xi32>) {
  ^bb0(%p: i32, %q: i8, %acc: i32):
    %y = arith.extsi %q : i8 to i32
    %m = arith.muli %p, %y : i32
    %s = arith.addi %acc, %m : i32
    linalg.yield %s : i32
  }
  return
}

// Unsigned integers of 16 bits do not fit signed ones.
// CHECK-LABEL: func.func @unsigned_words(
// CHECK-COUNT-2: linalg.generic
func.func @unsigned_words(%a: memref<64x64xi16>, %b: memref<64x64xi8>, %c: memref<64x64xi32>) {
  %zero = arith.constant 0 : i32
  linalg.generic {indexing_maps = [#none, #out], iterator_types = ["parallel", "parallel"]}
      ins(%zero : i32) outs(%c : memref<64x64xi32>) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x64xi16>, memref<64x64xi8>) outs(%c : memref<64x64xi32>) {
  ^bb0(%p: i16, %q: i8, %acc: i32):
    %x = arith.extui %p : i16 to i32
    %y = arith.extsi %q : i8 to i32
    %m = arith.muli %x, %y : i32
    %s = arith.addi %acc, %m : i32
    linalg.yield %s : i32
  }
  return
}

// Sums of 64 bits do not fit the instruction's.
// CHECK-LABEL: func.func @long_sums(
// CHECK-COUNT-2: linalg.generic
func.func @long_sums(%a: memref<64x64xi8>, %b: memref<64x64xi8>, %c: memref<64x64xi64>) {
  %zero = arith.constant 0 : i64
  linalg.generic {indexing_maps = [#none, #out], iterator_types = ["parallel", "parallel"]}
      ins(%zero : i64) outs(%c : memref<64x64xi64>) {
  ^bb0(%p: i64, %o: i64):
    linalg.yield %p : i64
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x64xi8>, memref<64x64xi8>) outs(%c : memref<64x64xi64>) {
  ^bb0(%p: i8, %q: i8, %acc: i64):
    %x = arith.extsi %p : i8 to i64
    %y = arith.extsi %q : i8 to i64
    %m = arith.muli %x, %y : i64
    %s = arith.addi %acc, %m : i64
    linalg.yield %s : i64
  }
  return
}

// What the output held before is not known.
// CHECK-LABEL: func.func @accumulates(
// CHECK: linalg.generic
func.func @accumulates(%a: memref<64x64xi8>, %b: memref<64x64xi8>, %c: memref<64x64xi32>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x64xi8>, memref<64x64xi8>) outs(%c : memref<64x64xi32>) {
  ^bb0(%p: i8, %q: i8, %acc: i32):
    %x = arith.extsi %p : i8 to i32
    %y = arith.extsi %q : i8 to i32
    %m = arith.muli %x, %y : i32
    %s = arith.addi %acc, %m : i32
    linalg.yield %s : i32
  }
  return
}

#each = affine_map<(z, m, k) -> (z, m, k)>
#rest = affine_map<(z, m, k) -> (z, k)>
#kept = affine_map<(z, m, k) -> (z, m)>

// One factor has no loop of its own: nothing is reused.
// CHECK-LABEL: func.func @matrix_times_vector(
// CHECK-COUNT-2: linalg.generic
func.func @matrix_times_vector(%a: memref<64x64x64xi8>, %b: memref<64x64xi8>, %c: memref<64x64xi32>) {
  %zero = arith.constant 0 : i32
  linalg.generic {indexing_maps = [#none, #out], iterator_types = ["parallel", "parallel"]}
      ins(%zero : i32) outs(%c : memref<64x64xi32>) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  }
  linalg.generic {indexing_maps = [#each, #rest, #kept], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x64x64xi8>, memref<64x64xi8>) outs(%c : memref<64x64xi32>) {
  ^bb0(%p: i8, %q: i8, %acc: i32):
    %x = arith.extsi %p : i8 to i32
    %y = arith.extsi %q : i8 to i32
    %m = arith.muli %x, %y : i32
    %s = arith.addi %acc, %m : i32
    linalg.yield %s : i32
  }
  return
}
