// RUN: %xyntra-opt %s --split-variances | FileCheck %s

#x = affine_map<(d0, d1) -> (d0, d1)>
#c = affine_map<(d0, d1) -> (d1)>
#i = affine_map<(d0) -> (d0)>

// Columns of 8192 elements are added up in parts of 64, with the squares of what they differ by from the
// mean of their own part; then the parts are combined, and the mean that was there before reads the sum.
// CHECK-LABEL: func.func @columns(
// CHECK: tensor.expand_shape %arg0 {{.+}} : tensor<8192x64xf32> into tensor<1x128x64x64xf32>
// CHECK: iterator_types = ["parallel", "parallel", "reduction", "parallel"]} {{.+}} outs(%{{.+}} : tensor<1x128x64xf32>)
// CHECK: arith.subf
// CHECK: iterator_types = ["parallel", "parallel", "reduction", "parallel"]} {{.+}} outs(%{{.+}} : tensor<1x128x64xf32>)
// CHECK: iterator_types = ["parallel", "reduction", "parallel", "parallel"]} {{.+}} outs(%{{.+}} : tensor<1x1x64xf32>)
// CHECK: iterator_types = ["parallel", "reduction", "parallel", "parallel"]} {{.+}} outs(%{{.+}} : tensor<1x1x64xf32>)
// CHECK-NOT: iterator_types = ["reduction", "parallel"]
// CHECK: return
func.func @columns(%x: tensor<8192x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 8.192000e+03 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#x, #c], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8192x64xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %mean = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%sum : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.divf %p, %n : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %squares = linalg.generic {indexing_maps = [#x, #c, #c], iterator_types = ["reduction", "parallel"]}
      ins(%x, %mean : tensor<8192x64xf32>, tensor<64xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %d = arith.subf %p, %q : f32
    %s = arith.mulf %d, %d : f32
    %a = arith.addf %o, %s : f32
    linalg.yield %a : f32
  } -> tensor<64xf32>
  return %mean, %squares : tensor<64xf32>, tensor<64xf32>
}
