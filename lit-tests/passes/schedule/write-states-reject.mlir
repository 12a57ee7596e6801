// RUN: %xyntra-opt %s --write-states --split-input-file | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

// A kernel that reads other elements than it writes computes its result elsewhere, and it is copied
// at the end. So is one whose input is still to be read when its result is needed.
// CHECK-NOT: xyntra.inplace
// CHECK: func.func private @state_copy_float32_8_8
// CHECK-LABEL: func.func @main
// CHECK-SAME: xyntra.copied = "the kernel that computes it reads elements that it has overwritten"
// CHECK-SAME: xyntra.copied = "its old value is read after that"
func.func private @turn(%x: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %e = tensor.empty() : tensor<8x8xf32>
  %0 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @add(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %e = tensor.empty() : tensor<8x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
// CHECK: %[[TURNED:.*]] = call @turn(%arg0)
// CHECK: %[[SUM:.*]] = call @add(%arg1, %arg0)
// CHECK: %[[LATE:.*]] = call @add(%[[SUM]], %arg1)
// CHECK: %[[A:.*]] = call @state_copy_float32_8_8(%[[TURNED]])
// CHECK: %[[B:.*]] = call @state_copy_float32_8_8(%[[SUM]])
// CHECK: return %[[A]], %[[B]], %[[LATE]]
func.func @main(%a: tensor<8x8xf32> {xyntra.input = "a"}, %b: tensor<8x8xf32> {xyntra.input = "b"})
    -> (tensor<8x8xf32> {xyntra.alias = "a"}, tensor<8x8xf32> {xyntra.alias = "b"}, tensor<8x8xf32>) {
  %0 = call @turn(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = call @add(%b, %a) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = call @add(%1, %b) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
