// RUN: %xyntra-opt %s --split-gates | FileCheck %s

#state = affine_map<(b, g, j, k) -> (b, k)>
#weight = affine_map<(b, g, j, k) -> (g, j, k)>
#gates = affine_map<(b, g, j, k) -> (b, g, j)>
#first = affine_map<(b, j) -> (b, 0, j)>
#second = affine_map<(b, j) -> (b, 1, j)>
#id = affine_map<(b, j) -> (b, j)>
#id3 = affine_map<(b, g, j) -> (b, g, j)>

// Tiles of a product read the weights once for all of many rows.
// CHECK-LABEL: func.func @many_rows(
// CHECK: linalg.generic {{.+}} outs(%{{.+}} : tensor<64x2x16xf32>)
// CHECK-NOT: xyntra.by_rows
func.func @many_rows(%h: tensor<64x16xf32>, %w: tensor<2x16x16xf32>) -> tensor<64x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x2x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x2x16xf32>) -> tensor<64x2x16xf32>
  %p = linalg.generic {indexing_maps = [#state, #weight, #gates], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%h, %w : tensor<64x16xf32>, tensor<2x16x16xf32>) outs(%f : tensor<64x2x16xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<64x2x16xf32>
  %d = tensor.empty() : tensor<64x16xf32>
  %r = linalg.generic {indexing_maps = [#first, #second, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %p : tensor<64x2x16xf32>, tensor<64x2x16xf32>) outs(%d : tensor<64x16xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %m = arith.mulf %x, %y : f32
    linalg.yield %m : f32
  } -> tensor<64x16xf32>
  return %r : tensor<64x16xf32>
}

// What reads all gates at once reads one tensor.
// CHECK-LABEL: func.func @whole(
// CHECK: linalg.generic {{.+}} outs(%{{.+}} : tensor<1x2x16xf32>)
// CHECK-NOT: xyntra.by_rows
func.func @whole(%h: tensor<1x16xf32>, %w: tensor<2x16x16xf32>) -> tensor<1x2x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x2x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2x16xf32>) -> tensor<1x2x16xf32>
  %p = linalg.generic {indexing_maps = [#state, #weight, #gates], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%h, %w : tensor<1x16xf32>, tensor<2x16x16xf32>) outs(%f : tensor<1x2x16xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x2x16xf32>
  %r = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%p : tensor<1x2x16xf32>) outs(%e : tensor<1x2x16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %m = math.tanh %x : f32
    linalg.yield %m : f32
  } -> tensor<1x2x16xf32>
  return %r : tensor<1x2x16xf32>
}
