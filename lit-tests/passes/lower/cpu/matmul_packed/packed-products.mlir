// RUN: %xyntra-opt %s --schedule-nests=vector-bits=512,vector-registers=32 --packed-products | FileCheck %s

#none = affine_map<(m, n) -> ()>
#out = affine_map<(m, n) -> (m, n)>
#low = affine_map<(m, n, b, s) -> (m, b, s, 0)>
#high = affine_map<(m, n, b, s) -> (m, b, s, 1)>
#packed = affine_map<(m, n, b, s) -> (n, b, s)>
#block = affine_map<(m, n, b, s) -> (n, b)>
#result = affine_map<(m, n, b, s) -> (m, n)>

// Words of 32 bits hold eight integers; the upper four are moved down. With the exponent of 2**23
// (0x4B000000), the lowest one becomes a float; of four scales, each is for four words.
// CHECK-LABEL: func.func @few_rows(
// CHECK-NOT: linalg.generic
// CHECK: vector.load {{.+}} : memref<131072xi8>, vector<64xi8>
// CHECK: vector.bitcast {{.+}} : vector<64xi8> to vector<16xi32>
// CHECK: arith.shrui {{.+}} : vector<16xi32>
// CHECK: arith.constant dense<15> : vector<16xi32>
// CHECK: arith.constant dense<1258291200> : vector<16xi32>
// CHECK: arith.bitcast {{.+}} : vector<16xi32> to vector<16xf32>
// CHECK: arith.subf {{.+}} : vector<16xf32>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @few_rows(%a: memref<2x16x16x2xf32>, %w: memref<512x16x16xi8>, %t: memref<512x16xf16>, %c: memref<2x512xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 15 : i8
  %four = arith.constant 4 : i8
  %eight = arith.constant 8 : i32
  linalg.generic {indexing_maps = [#none, #out], iterator_types = ["parallel", "parallel"]}
      ins(%zero : f32) outs(%c : memref<2x512xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  linalg.generic {indexing_maps = [#low, #high, #packed, #block, #result],
                  iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %a, %w, %t : memref<2x16x16x2xf32>, memref<2x16x16x2xf32>, memref<512x16x16xi8>, memref<512x16xf16>)
      outs(%c : memref<2x512xf32>) {
  ^bb0(%x: f32, %y: f32, %byte: i8, %narrow: f16, %o: f32):
    %scale = arith.extf %narrow : f16 to f32
    %l = arith.andi %byte, %low : i8
    %h = arith.shrui %byte, %four : i8
    %l1 = arith.extui %l : i8 to i32
    %l2 = arith.subi %l1, %eight : i32
    %l3 = arith.sitofp %l2 : i32 to f32
    %l4 = arith.mulf %l3, %scale : f32
    %h1 = arith.extui %h : i8 to i32
    %h2 = arith.subi %h1, %eight : i32
    %h3 = arith.sitofp %h2 : i32 to f32
    %h4 = arith.mulf %h3, %scale : f32
    %first = arith.mulf %x, %l4 : f32
    %second = arith.mulf %y, %h4 : f32
    %both = arith.addf %first, %second : f32
    %s = arith.addf %o, %both : f32
    linalg.yield %s : f32
  }
  return
}

// A zero point that is no integer: byte by byte.
// CHECK-LABEL: func.func @zero_points_of_floats(
// CHECK-NOT: linalg.generic
// CHECK: vector.load {{.+}} : memref<131072xi8>, vector<16xi8>
// CHECK-NOT: vector.bitcast
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @zero_points_of_floats(%a: memref<2x16x16xf32>, %w: memref<512x16x16xi8>, %t: memref<512x16xf32>, %c: memref<2x512xf32>) {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 7.5 : f32
  linalg.generic {indexing_maps = [#none, #out], iterator_types = ["parallel", "parallel"]}
      ins(%zero : f32) outs(%c : memref<2x512xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  linalg.generic {indexing_maps = [affine_map<(m, n, b, s) -> (m, b, s)>, #packed, #block, #result],
                  iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %w, %t : memref<2x16x16xf32>, memref<512x16x16xi8>, memref<512x16xf32>)
      outs(%c : memref<2x512xf32>) {
  ^bb0(%x: f32, %byte: i8, %scale: f32, %o: f32):
    %i = arith.extui %byte : i8 to i32
    %f = arith.sitofp %i : i32 to f32
    %d = arith.subf %f, %half : f32
    %v = arith.mulf %d, %scale : f32
    %m = arith.mulf %x, %v : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}
