// RUN: %xyntra-opt %s --loop-order | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>

// CHECK-DAG: [[ID:#.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: [[SWAP:#.+]] = affine_map<(d0, d1) -> (d1, d0)>

// What is in order stays as it is.
// CHECK-LABEL: func.func @in_order(
// CHECK: linalg.generic {indexing_maps = [[[ID]], [[ID]]]
func.func @in_order(%x: memref<64x64xf32>, %y: memref<64x64xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<64x64xf32>) outs(%y : memref<64x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  return
}

// Where tensors lie in memory is not known yet.
// CHECK-LABEL: func.func @tensors(
// CHECK: linalg.generic {indexing_maps = [[[SWAP]], [[SWAP]]]
func.func @tensors(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = linalg.generic {indexing_maps = [#swap, #swap], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x64xf32>) outs(%y : tensor<64x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
