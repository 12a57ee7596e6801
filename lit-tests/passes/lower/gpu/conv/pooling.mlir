// RUN: %xyntra-opt %s --lower-to-gpu=device=webgpu | FileCheck %s

// A thread reads the window of its output; what lies outside of the image is not read.
// CHECK-LABEL: gpu.func @k_0(
// CHECK: arith.cmpi ult
// CHECK: [[PLACE:%.+]] = arith.select {{%.+}}, {{%.+}}, %c0 : index
// CHECK: arith.maximumf
// CHECK: gpu.return
func.func @k(%x: tensor<1x8x20x20xf32>) -> tensor<1x8x10x10xf32> {
  %least = arith.constant 0xFF800000 : f32
  %padded = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %least : f32
  } : tensor<1x8x20x20xf32> to tensor<1x8x22x22xf32>
  %window = tensor.empty() : tensor<3x3xf32>
  %0 = tensor.empty() : tensor<1x8x10x10xf32>
  %1 = linalg.fill ins(%least : f32) outs(%0 : tensor<1x8x10x10xf32>) -> tensor<1x8x10x10xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(n, c, h, w, p, q) -> (n, c, h * 2 + p, w * 2 + q)>, affine_map<(n, c, h, w, p, q) -> (p, q)>, affine_map<(n, c, h, w, p, q) -> (n, c, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%padded, %window : tensor<1x8x22x22xf32>, tensor<3x3xf32>) outs(%1 : tensor<1x8x10x10xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %3 = arith.maximumf %o, %i : f32
    linalg.yield %3 : f32
  } -> tensor<1x8x10x10xf32>
  return %2 : tensor<1x8x10x10xf32>
}
