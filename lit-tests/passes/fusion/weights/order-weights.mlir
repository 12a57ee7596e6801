// RUN: %xyntra-opt %s --order-weights | FileCheck %s
// RUN: %xyntra-opt %s --order-weights=precision=tf32 | FileCheck %s --check-prefix=TF32

#last = affine_map<(n, h, w, o, c, i, j) -> (n, h + i, w + j, c)>
#first = affine_map<(n, h, w, o, c, i, j) -> (n, c, h + i, w + j)>
#oihw = affine_map<(n, h, w, o, c, i, j) -> (o, c, i, j)>
#ohwi = affine_map<(n, h, w, o, c, i, j) -> (o, i, j, c)>
#y = affine_map<(n, h, w, o, c, i, j) -> (n, h, w, o)>
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

// CHECK-DAG: #[[OIHW:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>
// CHECK-DAG: #[[OHWI:.+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d5, d6, d4)>
// CHECK-LABEL: func.func @channels_last(
// CHECK-SAME: %[[X:.+]]: tensor<1x6x6x16xf16>, %[[W:.+]]: tensor<8x16x3x3xf16>
// CHECK: %[[T:.+]] = linalg.generic {indexing_maps = [#[[OIHW]], #{{.+}}]{{.+}} ins(%[[W]] : tensor<8x16x3x3xf16>) outs(%{{.+}} : tensor<8x3x3x16xf16>)
// CHECK: linalg.generic {indexing_maps = [#{{.+}}, #[[OHWI]], #{{.+}}]{{.+}} ins(%[[X]], %[[T]] : tensor<1x6x6x16xf16>, tensor<8x3x3x16xf16>)
func.func @channels_last(%x: tensor<1x6x6x16xf16>, %w: tensor<8x16x3x3xf16> {xyntra.parameter = "w"}) -> tensor<1x4x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x4x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  %y = linalg.generic {indexing_maps = [#last, #oihw, #y],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x6x6x16xf16>, tensor<8x16x3x3xf16>) outs(%i : tensor<1x4x4x8xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %p = arith.mulf %u, %v : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x4x4x8xf32>
  return %y : tensor<1x4x4x8xf32>
}

// Threads take neighbouring columns of f32; both products read the same copy.
// CHECK-LABEL: func.func @products_of_singles(
// CHECK: %[[T:.+]] = linalg.generic {{.+}} ins(%arg2 : tensor<8x16xf32>) outs(%{{.+}} : tensor<16x8xf32>)
// CHECK: %[[P:.+]] = linalg.generic {{.+}} ins(%{{.+}}, %[[T]] : tensor<4x16xf32>, tensor<16x8xf32>)
// CHECK-NOT: ins(%arg2
// CHECK: linalg.generic {{.+}} ins(%{{.+}}, %[[T]] : tensor<4x16xf32>, tensor<16x8xf32>)
// TF32-LABEL: func.func @products_of_singles(
// TF32-COUNT-2: ins(%{{.+}}, %arg2 : tensor<4x16xf32>, tensor<8x16xf32>)
func.func @products_of_singles(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>, %w: tensor<8x16xf32> {xyntra.parameter = "w"}) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %p = linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x16xf32>, tensor<8x16xf32>) outs(%i : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %q = linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%y, %w : tensor<4x16xf32>, tensor<8x16xf32>) outs(%i : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %p, %q : tensor<4x8xf32>, tensor<4x8xf32>
}

// Bytes cannot be transposed on their way to tensor cores.
// CHECK-LABEL: func.func @products_of_bytes(
// CHECK: linalg.generic {{.+}} ins(%arg1 : tensor<16x8xi8>) outs(%{{.+}} : tensor<8x16xi8>)
func.func @products_of_bytes(%x: tensor<4x16xi8>, %w: tensor<16x8xi8> {xyntra.parameter = "w"}) -> tensor<4x8xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<4x8xi32>
  %i = linalg.fill ins(%zero : i32) outs(%e : tensor<4x8xi32>) -> tensor<4x8xi32>
  %p = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x16xi8>, tensor<16x8xi8>) outs(%i : tensor<4x8xi32>) {
  ^bb0(%a: i8, %b: i8, %o: i32):
    %u = arith.extsi %a : i8 to i32
    %v = arith.extsi %b : i8 to i32
    %m = arith.muli %u, %v : i32
    %s = arith.addi %o, %m : i32
    linalg.yield %s : i32
  } -> tensor<4x8xi32>
  return %p : tensor<4x8xi32>
}

// Threads take neighbouring channels of what has them innermost.
// CHECK-LABEL: func.func @each_channel_by_itself(
// CHECK: linalg.generic {{.+}} ins(%arg1 : tensor<16x3x3xf16>) outs(%{{.+}} : tensor<3x3x16xf16>)
func.func @each_channel_by_itself(%x: tensor<1x6x6x16xf16>, %w: tensor<16x3x3xf16> {xyntra.parameter = "w"}) -> tensor<1x4x4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x4x16xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4x16xf32>) -> tensor<1x4x4x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(n, h, w, c, i, j) -> (n, h + i, w + j, c)>,
      affine_map<(n, h, w, c, i, j) -> (c, i, j)>, affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x6x6x16xf16>, tensor<16x3x3xf16>) outs(%i : tensor<1x4x4x16xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %p = arith.mulf %u, %v : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x4x4x16xf32>
  return %y : tensor<1x4x4x16xf32>
}

// Threads take neighbouring outputs of neighbouring groups of few channels.
// CHECK-LABEL: func.func @groups(
// CHECK: linalg.generic {{.+}} ins(%arg1 : tensor<4x2x3x3x3xf16>) outs(%{{.+}} : tensor<3x3x3x4x2xf16>)
func.func @groups(%x: tensor<1x6x6x4x3xf16>, %w: tensor<4x2x3x3x3xf16> {xyntra.parameter = "w"}) -> tensor<1x4x4x4x2xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x4x4x2xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4x4x2xf32>) -> tensor<1x4x4x4x2xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(n, h, w, g, o, c, i, j) -> (n, h + i, w + j, g, c)>,
      affine_map<(n, h, w, g, o, c, i, j) -> (g, o, c, i, j)>, affine_map<(n, h, w, g, o, c, i, j) -> (n, h, w, g, o)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x6x6x4x3xf16>, tensor<4x2x3x3x3xf16>) outs(%i : tensor<1x4x4x4x2xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %p = arith.mulf %u, %v : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x4x4x4x2xf32>
  return %y : tensor<1x4x4x4x2xf32>
}

// A row of 12 halves starts between lines of the cache more often than one of 64: tiles are copied along the sum.
// CHECK-LABEL: func.func @ragged_columns(
// CHECK: %[[T:.+]] = linalg.generic {{.+}} ins(%arg1 : tensor<64x12xf16>) outs(%{{.+}} : tensor<12x64xf16>)
// CHECK: linalg.generic {{.+}} ins(%arg0, %[[T]] : tensor<4x64xf16>, tensor<12x64xf16>)
func.func @ragged_columns(%x: tensor<4x64xf16>, %w: tensor<64x12xf16> {xyntra.parameter = "w"}) -> tensor<4x12xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x12xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x12xf32>) -> tensor<4x12xf32>
  %p = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x64xf16>, tensor<64x12xf16>) outs(%i : tensor<4x12xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x12xf32>
  return %p : tensor<4x12xf32>
}

// Weights of a large convolution that a call is given are ordered in every call.
// CHECK-LABEL: func.func @given_weights(
// CHECK: %[[T:.+]] = linalg.generic {{.+}} ins(%arg1 : tensor<128x128x3x3xf16>) outs(%{{.+}} : tensor<128x3x3x128xf16>)
// CHECK: ins(%arg0, %[[T]] : tensor<1x130x130x128xf16>, tensor<128x3x3x128xf16>)
func.func @given_weights(%x: tensor<1x130x130x128xf16>, %w: tensor<128x128x3x3xf16>) -> tensor<1x128x128x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x128x128x128xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x128x128x128xf32>) -> tensor<1x128x128x128xf32>
  %y = linalg.generic {indexing_maps = [#last, #oihw, #y],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x130x130x128xf16>, tensor<128x128x3x3xf16>) outs(%i : tensor<1x128x128x128xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %p = arith.mulf %u, %v : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x128x128x128xf32>
  return %y : tensor<1x128x128x128xf32>
}
