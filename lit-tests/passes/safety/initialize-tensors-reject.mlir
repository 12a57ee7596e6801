// RUN: %xyntra-opt %s --initialize-tensors | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// What is overwritten stays empty: by an operation on every element, or by slices side by side.
// CHECK-LABEL: func.func @overwritten
// CHECK: [[EMPTY:%.+]] = tensor.empty() : tensor<2xf32>
// CHECK: outs([[EMPTY]] : tensor<2xf32>)
// CHECK: [[BOTH:%.+]] = tensor.empty() : tensor<4xf32>
// CHECK: tensor.insert_slice %{{.+}} into [[BOTH]]
func.func @overwritten(%x: tensor<2xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<2xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<2xf32>) outs(%e : tensor<2xf32>) {
  ^bb0(%v: f32, %o: f32):
    %n = arith.negf %v : f32
    linalg.yield %n : f32
  } -> tensor<2xf32>
  %f = tensor.empty() : tensor<4xf32>
  %1 = tensor.insert_slice %0 into %f[0] [2] [1] : tensor<2xf32> into tensor<4xf32>
  %2 = tensor.insert_slice %x into %1[2] [2] [1] : tensor<2xf32> into tensor<4xf32>
  return %2 : tensor<4xf32>
}

// A window gives the loops their extents; nobody reads its elements.
// CHECK-LABEL: func.func @window
// CHECK: [[WINDOW:%.+]] = tensor.empty() : tensor<3xf32>
// CHECK: ins(%{{.+}}, [[WINDOW]] : tensor<6xf32>, tensor<3xf32>)
func.func @window(%x: tensor<6xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %w = tensor.empty() : tensor<3xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 + d1)>,
      affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x, %w : tensor<6xf32>, tensor<3xf32>) outs(%y : tensor<4xf32>) {
  ^bb0(%v: f32, %u: f32, %s: f32):
    %n = arith.maximumf %v, %s : f32
    linalg.yield %n : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
