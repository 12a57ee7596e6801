// RUN: %xyntra-opt %s --check-bounds | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#digits = affine_map<(d0, d1) -> ((d0 * 4 + d1) floordiv 2, d1 mod 2)>
#difference = affine_map<(d0, d1) -> (d0 - d1 + 3)>
#same = affine_map<(d0, d1) -> (d0 floordiv 4 + d1 floordiv 4)>

// Indices that stay inside, some of which only trying all iterations tells.
// CHECK-LABEL: func.func @inside
// CHECK-COUNT-3: linalg.generic
func.func @inside(%x: tensor<8x2xf32>, %y: tensor<7xf32>, %z: tensor<2xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %0 = linalg.generic {indexing_maps = [#digits, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x2xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<4x4xf32>
  %1 = linalg.generic {indexing_maps = [#difference, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<7xf32>) outs(%0 : tensor<4x4xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<4x4xf32>
  %2 = linalg.generic {indexing_maps = [#same, #id], iterator_types = ["parallel", "parallel"]}
      ins(%z : tensor<2xf32>) outs(%1 : tensor<4x4xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @pads
// CHECK: tensor.pad
func.func @pads(%x: tensor<4xf32>, %c: f32) -> tensor<6xf32> {
  %0 = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %c : f32
  } : tensor<4xf32> to tensor<6xf32>
  return %0 : tensor<6xf32>
}

// Nothing is read in a loop that does not run.
// CHECK-LABEL: func.func @nothing
// CHECK: linalg.generic
func.func @nothing(%x: tensor<0xf32>) -> tensor<0x4xf32> {
  %e = tensor.empty() : tensor<0x4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, #id],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<0xf32>) outs(%e : tensor<0x4xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<0x4xf32>
  return %0 : tensor<0x4xf32>
}
