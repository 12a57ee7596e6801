// RUN: %xyntra-opt %s --fuse-elementwise | FileCheck %s
// RUN: %xyntra-opt %s --fuse-elementwise=max-ops=2 | FileCheck %s --check-prefix=SMALL

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>

// A bias is read through its own map and stays an input; the two operations share a region.
// CHECK-LABEL: func.func @bias_relu(
// CHECK-SAME: %[[X:.+]]: tensor<4x8xf32>, %[[B:.+]]: tensor<8xf32>)
// CHECK: %[[Y:.+]] = "xyntra.fused"() ({
// CHECK: %[[SUM:.+]] = linalg.generic {{.+}} ins(%[[X]], %[[B]] :
// CHECK: %[[RELU:.+]] = linalg.generic {{.+}} ins(%[[SUM]] :
// CHECK: "xyntra.yield"(%[[RELU]])
// CHECK: kind = "elementwise"
// CHECK: return %[[Y]]
func.func @bias_relu(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<4x8xf32>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.maximumf %p, %zero : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// A value that is also returned becomes a second result of the region.
// CHECK-LABEL: func.func @two_results
// CHECK: %[[R:.+]]:2 = "xyntra.fused"() ({
// CHECK: %[[A:.+]] = linalg.generic
// CHECK: math.exp
// CHECK: %[[B:.+]] = linalg.generic
// CHECK: arith.mulf
// CHECK: "xyntra.yield"(%[[A]], %[[B]])
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @two_results(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %x : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// Three operations, two to a region.
// CHECK-LABEL: func.func @chain
// CHECK-COUNT-1: "xyntra.fused"
// CHECK: return
// SMALL-LABEL: func.func @chain
// SMALL: "xyntra.fused"() ({
// SMALL: math.exp
// SMALL: math.tanh
// SMALL: "xyntra.yield"
// SMALL: math.absf
// SMALL: return
func.func @chain(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.tanh %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%1 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.absf %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
