// RUN: %xyntra-opt %s --schedule-nests=dot-products=pmaddwd --integer-tiles | FileCheck %s --check-prefixes=CHECK,PAIRS
// RUN: %xyntra-opt %s --schedule-nests=dot-products=vnni,vector-bits=512,vector-registers=32 --integer-tiles | FileCheck %s --check-prefixes=CHECK,QUADS
// RUN: %xyntra-opt %s --schedule-nests=dot-products=pairs --integer-tiles | FileCheck %s --check-prefixes=CHECK,PLAIN

#none = affine_map<(m, n) -> ()>
#out = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#column = affine_map<(m, n) -> (n)>

// Unsigned rows and signed columns are what both instructions take.
// CHECK-LABEL: func.func @product(
// CHECK-NOT: linalg.generic
// CHECK: scf.for {{.+}} iter_args
// PAIRS: vector.load {{.+}}, vector<16xi16>
// PAIRS: "llvm.x86.avx2.pmadd.wd"{{.+}} (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
// PAIRS: arith.addi {{.+}} : vector<8xi32>
// QUADS: vector.load {{.+}}, vector<64xi8>
// QUADS: "llvm.x86.avx512.vpdpbusd.512"{{.+}} (vector<16xi32>, vector<64xi8>, vector<64xi8>) -> vector<16xi32>
// PLAIN: arith.extsi {{.+}} : vector<8xi16> to vector<8xi32>
// PLAIN: arith.muli {{.+}} : vector<8xi32>
// CHECK: vector.store {{.+}} : memref<4096xi32>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @product(%a: memref<64x64xi8>, %b: memref<64x64xi8>, %c: memref<64x64xi32>) {
  %zero = arith.constant 0 : i32
  linalg.generic {indexing_maps = [#none, #out], iterator_types = ["parallel", "parallel"]}
      ins(%zero : i32) outs(%c : memref<64x64xi32>) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x64xi8>, memref<64x64xi8>) outs(%c : memref<64x64xi32>) {
  ^bb0(%p: i8, %q: i8, %acc: i32):
    %x = arith.extui %p : i8 to i32
    %y = arith.extsi %q : i8 to i32
    %m = arith.muli %x, %y : i32
    %s = arith.addi %acc, %m : i32
    linalg.yield %s : i32
  }
  return
}

// Two signed factors: quads move the rows by 128, and start from 128 times the sums of the columns.
// What follows is done before the sums are stored; they need no memory.
// CHECK-LABEL: func.func @signed_with_scale(
// CHECK-SAME: [[D:%[a-z0-9]+]]: memref<64x64xf32>)
// CHECK-NOT: linalg.generic
// QUADS: arith.xori
// QUADS: arith.constant -128 : i32
// CHECK: [[SUM:%.+]]:{{.+}} = scf.for
// CHECK: arith.sitofp [[SUM]]#0
// CHECK: arith.mulf
// CHECK: vector.store {{.+}} : memref<4096xf32>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @signed_with_scale(%a: memref<64x64xi8>, %b: memref<64x64xi8>, %v: memref<64xf32>, %d: memref<64x64xf32>) {
  %zero = arith.constant 0 : i32
  %c = memref.alloc() : memref<64x64xi32>
  linalg.generic {indexing_maps = [#none, #out], iterator_types = ["parallel", "parallel"]}
      ins(%zero : i32) outs(%c : memref<64x64xi32>) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x64xi8>, memref<64x64xi8>) outs(%c : memref<64x64xi32>) {
  ^bb0(%p: i8, %q: i8, %acc: i32):
    %x = arith.extsi %p : i8 to i32
    %y = arith.extsi %q : i8 to i32
    %m = arith.muli %x, %y : i32
    %s = arith.addi %acc, %m : i32
    linalg.yield %s : i32
  }
  linalg.generic {indexing_maps = [#out, #column, #out], iterator_types = ["parallel", "parallel"]}
      ins(%c, %v : memref<64x64xi32>, memref<64xf32>) outs(%d : memref<64x64xf32>) {
  ^bb0(%p: i32, %q: f32, %o: f32):
    %x = arith.sitofp %p : i32 to f32
    %y = arith.mulf %x, %q : f32
    linalg.yield %y : f32
  }
  return
}
