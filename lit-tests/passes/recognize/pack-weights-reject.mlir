// RUN: %xyntra-opt %s --pack-weights | FileCheck %s

#id2 = affine_map<(d0, d1) -> (d0, d1)>
#blocks = affine_map<(d0, d1) -> (d0 floordiv 8, d1)>
#a = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Blocks of eight steps are too short, and the weight is dequantized when the model is loaded, as before.
// CHECK-LABEL: func.func @main(
// CHECK: linalg.generic {{.+}} ins(%arg0, %{{.+}} : tensor<4x64xf32>, tensor<64x16xf32>)
// CHECK-NOT: tensor<16x
func.func @main(%x: tensor<4x64xf32>, %q: tensor<64x16xi8> {xyntra.parameter = "q"}, %s: tensor<8x16xf32> {xyntra.parameter = "s"}) -> tensor<4x16xf32> {
  %four = arith.constant 4 : i8
  %zero = arith.constant 0.0 : f32
  %ew = tensor.empty() : tensor<64x16xf32>
  %spread = linalg.generic {indexing_maps = [#blocks, #id2], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<8x16xf32>) outs(%ew : tensor<64x16xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  } -> tensor<64x16xf32>
  %weight = linalg.generic {indexing_maps = [#id2, #id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%q, %spread : tensor<64x16xi8>, tensor<64x16xf32>) outs(%ew : tensor<64x16xf32>) {
  ^bb0(%i: i8, %scale: f32, %o: f32):
    %h = arith.shli %i, %four : i8
    %l = arith.shrsi %h, %four : i8
    %f = arith.sitofp %l : i8 to f32
    %v = arith.mulf %f, %scale : f32
    linalg.yield %v : f32
  } -> tensor<64x16xf32>
  %e = tensor.empty() : tensor<4x16xf32>
  %z = linalg.generic {indexing_maps = [#id2], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x16xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<4x16xf32>
  %p = linalg.generic {indexing_maps = [#a, #w, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %weight : tensor<4x64xf32>, tensor<64x16xf32>) outs(%z : tensor<4x16xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %m = arith.mulf %l, %r : f32
    %t = arith.addf %acc, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x16xf32>
  return %p : tensor<4x16xf32>
}
