// RUN: %xyntra-opt %s --lower-to-gpu=device=webgpu | FileCheck %s

// A tile of the image comes to shared memory once, and a thread has several outputs.
// CHECK-LABEL: gpu.func @k_0(
// CHECK-SAME: workgroup(%[[TILE:.+]] : memref<{{[0-9]+}}xf32, #gpu.address_space<workgroup>>
// CHECK: vector.load %{{.+}}[%{{.+}}] {{.+}} : memref<{{[0-9]+}}xf32{{.*}}>, vector<4xf32>
// CHECK: vector.store %{{.+}}, %[[TILE]]
// CHECK: gpu.barrier
// CHECK: vector.load %[[TILE]]
// CHECK: arith.mulf {{.+}} : vector<4xf32>
// CHECK: vector.store {{.+}} : memref<{{.+}}>, vector<4xf32>
// CHECK: gpu.return
func.func @k(%x: tensor<1x8x20x20xf32>, %w: tensor<8x9x9xf32>) -> tensor<1x8x20x20xf32> {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 0, 4, 4] high[0, 0, 4, 4] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x8x20x20xf32> to tensor<1x8x28x28xf32>
  %0 = tensor.empty() : tensor<1x8x20x20xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x8x20x20xf32>) -> tensor<1x8x20x20xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(n, c, h, w, p, q) -> (n, c, h + p, w + q)>, affine_map<(n, c, h, w, p, q) -> (c, p, q)>, affine_map<(n, c, h, w, p, q) -> (n, c, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%padded, %w : tensor<1x8x28x28xf32>, tensor<8x9x9xf32>) outs(%1 : tensor<1x8x20x20xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %3 = arith.mulf %i, %j : f32
    %4 = arith.addf %o, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<1x8x20x20xf32>
  return %2 : tensor<1x8x20x20xf32>
}
