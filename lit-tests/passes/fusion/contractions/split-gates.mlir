// RUN: %xyntra-opt %s --split-gates | FileCheck %s

#state = affine_map<(b, g, j, k) -> (b, k)>
#weight = affine_map<(b, g, j, k) -> (g, j, k)>
#gates = affine_map<(b, g, j, k) -> (b, g, j)>
#first = affine_map<(b, j) -> (b, 0, j)>
#second = affine_map<(b, j) -> (b, 1, j)>
#id = affine_map<(b, j) -> (b, j)>

// Two gates that one operation combines: two reductions along rows of the weights.
// CHECK-DAG: #[[R0:.+]] = affine_map<(d0, d1, d2) -> (0, d1, d2)>
// CHECK-DAG: #[[R1:.+]] = affine_map<(d0, d1, d2) -> (1, d1, d2)>
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[H:.+]]: tensor<1x16xf32>, %[[W:.+]]: tensor<2x16x16xf16>)
// CHECK: %[[A:.+]] = linalg.generic {indexing_maps = [#{{.+}}, #[[R0]], #{{.+}}], iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[H]], %[[W]] : {{.+}}) outs(%{{.+}} : tensor<1x16xf32>) attrs = {{ *}}{xyntra.by_rows}
// CHECK: %[[B:.+]] = linalg.generic {indexing_maps = [#{{.+}}, #[[R1]], #{{.+}}], iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[H]], %[[W]] : {{.+}}) outs(%{{.+}} : tensor<1x16xf32>) attrs = {{ *}}{xyntra.by_rows}
// CHECK: linalg.generic {{.+}} ins(%[[A]], %[[B]] : tensor<1x16xf32>, tensor<1x16xf32>)
func.func @step(%h: tensor<1x16xf32>, %w: tensor<2x16x16xf16>) -> tensor<1x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x2x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2x16xf32>) -> tensor<1x2x16xf32>
  %p = linalg.generic {indexing_maps = [#state, #weight, #gates], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%h, %w : tensor<1x16xf32>, tensor<2x16x16xf16>) outs(%f : tensor<1x2x16xf32>) {
  ^bb0(%x: f32, %y: f16, %o: f32):
    %a = arith.extf %y : f16 to f32
    %m = arith.mulf %x, %a : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x2x16xf32>
  %d = tensor.empty() : tensor<1x16xf32>
  %r = linalg.generic {indexing_maps = [#first, #second, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %p : tensor<1x2x16xf32>, tensor<1x2x16xf32>) outs(%d : tensor<1x16xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = math.tanh %x : f32
    %m = arith.mulf %t, %y : f32
    linalg.yield %m : f32
  } -> tensor<1x16xf32>
  return %r : tensor<1x16xf32>
}
