// RUN: %xyntra-opt %s --lower-to-gpu=device=webgpu | FileCheck %s

// A thread computes the place that an index is divided to.
// CHECK-LABEL: gpu.func @k_0(
// CHECK: [[THERE:%.+]] = arith.cmpi ult, {{%.+}}, %c50_i32 : i32
// CHECK: scf.if [[THERE]]
// CHECK: affine.apply
// CHECK: [[VALUE:%.+]] = memref.load {{%.+}} : memref<25xf32>
// CHECK: memref.store [[VALUE]], {{%.+}} : memref<50xf32>
// CHECK: gpu.return
func.func @k(%x: tensor<25xf32>) -> tensor<50xf32> {
  %0 = tensor.empty() : tensor<50xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i floordiv 2)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<25xf32>) outs(%0 : tensor<50xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<50xf32>
  return %1 : tensor<50xf32>
}
