// RUN: %xyntra-opt %s --move-reshapes | FileCheck %s

#id2 = affine_map<(d0, d1) -> (d0, d1)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// An operand that has only one of the two dimensions needs them apart.
// CHECK-LABEL: func.func @apart(
// CHECK: %[[H:.+]] = tensor.expand_shape
// CHECK: linalg.generic {{.+}} ins(%[[H]], %{{.+}} : tensor<4x2x4xf32>, tensor<4xf32>)
func.func @apart(%x: tensor<4x8xf32>, %b: tensor<4xf32>) -> tensor<4x2x4xf32> {
  %e0 = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e0 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %h = tensor.expand_shape %y [[0], [1, 2]] output_shape [4, 2, 4] : tensor<4x8xf32> into tensor<4x2x4xf32>
  %e1 = tensor.empty() : tensor<4x2x4xf32>
  %z = linalg.generic {indexing_maps = [#id3, affine_map<(d0, d1, d2) -> (d2)>, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%h, %b : tensor<4x2x4xf32>, tensor<4xf32>) outs(%e1 : tensor<4x2x4xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %s = arith.addf %in, %in_1 : f32
    linalg.yield %s : f32
  } -> tensor<4x2x4xf32>
  return %z : tensor<4x2x4xf32>
}

// Nothing computes an argument: its expansion parts no operations.
// CHECK-LABEL: func.func @argument(
// CHECK: %[[H:.+]] = tensor.expand_shape
// CHECK: linalg.generic {{.+}} ins(%[[H]] : tensor<1x4x8xf32>)
func.func @argument(%y: tensor<4x8xf32>) -> tensor<1x4x8xf32> {
  %x3 = tensor.expand_shape %y [[0, 1], [2]] output_shape [1, 4, 8] : tensor<4x8xf32> into tensor<1x4x8xf32>
  %e1 = tensor.empty() : tensor<1x4x8xf32>
  %z = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x3 : tensor<1x4x8xf32>) outs(%e1 : tensor<1x4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<1x4x8xf32>
  return %z : tensor<1x4x8xf32>
}

// One expansion would go and two collapses come.
// CHECK-LABEL: func.func @pays(
// CHECK-NOT: tensor.collapse_shape
// CHECK: %[[H:.+]] = tensor.expand_shape
// CHECK: linalg.generic {{.+}} ins(%[[H]], %{{.+}}, %{{.+}} : tensor<4x2x4xf32>, tensor<4x2x4xf32>, tensor<4x2x4xf32>)
func.func @pays(%x: tensor<4x8xf32>, %a: tensor<4x2x4xf32>) -> tensor<4x2x4xf32> {
  %e0 = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e0 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %x3 = tensor.expand_shape %y [[0], [1, 2]] output_shape [4, 2, 4] : tensor<4x8xf32> into tensor<4x2x4xf32>
  %e1 = tensor.empty() : tensor<4x2x4xf32>
  %b = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : tensor<4x2x4xf32>) outs(%e1 : tensor<4x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<4x2x4xf32>
  %e2 = tensor.empty() : tensor<4x2x4xf32>
  %c = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : tensor<4x2x4xf32>) outs(%e2 : tensor<4x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.sin %in : f32
    linalg.yield %s : f32
  } -> tensor<4x2x4xf32>
  %e3 = tensor.empty() : tensor<4x2x4xf32>
  %z = linalg.generic {indexing_maps = [#id3, #id3, #id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x3, %b, %c : tensor<4x2x4xf32>, tensor<4x2x4xf32>, tensor<4x2x4xf32>) outs(%e3 : tensor<4x2x4xf32>) {
  ^bb0(%in: f32, %in_1: f32, %in_2: f32, %out: f32):
    %s = arith.addf %in, %in_1 : f32
    %t = arith.addf %s, %in_2 : f32
    linalg.yield %t : f32
  } -> tensor<4x2x4xf32>
  return %z : tensor<4x2x4xf32>
}

// A body that knows its position keeps its loops.
// CHECK-LABEL: func.func @index(
// CHECK: %[[H:.+]] = tensor.expand_shape
// CHECK: linalg.generic {{.+}} ins(%[[H]] : tensor<4x2x4xf32>)
// CHECK: linalg.index 1
func.func @index(%x: tensor<4x8xf32>) -> tensor<4x2x4xf32> {
  %e0 = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e0 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %x3 = tensor.expand_shape %y [[0], [1, 2]] output_shape [4, 2, 4] : tensor<4x8xf32> into tensor<4x2x4xf32>
  %e = tensor.empty() : tensor<4x2x4xf32>
  %z = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x3 : tensor<4x2x4xf32>) outs(%e : tensor<4x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i32
    %k = arith.sitofp %j : i32 to f32
    %s = arith.addf %in, %k : f32
    linalg.yield %s : f32
  } -> tensor<4x2x4xf32>
  return %z : tensor<4x2x4xf32>
}

// The dimension that a row op reduces is not joined with another.
// CHECK-LABEL: func.func @rows(
// CHECK: %[[H:.+]] = tensor.expand_shape
// CHECK: "xyntra.softmax"(%[[H]]) {axis = 2 : i64}
func.func @rows(%x: tensor<4x8xf32>) -> tensor<4x2x4xf32> {
  %e0 = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e0 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %h = tensor.expand_shape %y [[0], [1, 2]] output_shape [4, 2, 4] : tensor<4x8xf32> into tensor<4x2x4xf32>
  %v = "xyntra.softmax"(%h) {axis = 2} : (tensor<4x2x4xf32>) -> tensor<4x2x4xf32>
  return %v : tensor<4x2x4xf32>
}

// A loop that is reduced and one that is not stay apart, and a body that looks elements up reads
// them where they are.
// CHECK-LABEL: func.func @reduced(
// CHECK: %[[H:.+]] = tensor.expand_shape
// CHECK: linalg.generic {{.+}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[H]] : tensor<4x2x4xf32>)
// CHECK: tensor.extract %[[H]]
func.func @reduced(%x: tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<2xf32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e0 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %h = tensor.expand_shape %y [[0], [1, 2]] output_shape [4, 2, 4] : tensor<4x8xf32> into tensor<4x2x4xf32>
  %e = tensor.empty() : tensor<4x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
  %z = linalg.generic {indexing_maps = [#id3, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%h : tensor<4x2x4xf32>) outs(%f : tensor<4x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %out, %in : f32
    linalg.yield %s : f32
  } -> tensor<4x2xf32>
  %c0 = arith.constant 0 : index
  %g = tensor.empty() : tensor<2xf32>
  %u = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%g : tensor<2xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %s = tensor.extract %h[%c0, %i, %c0] : tensor<4x2x4xf32>
    linalg.yield %s : f32
  } -> tensor<2xf32>
  return %z, %u : tensor<4x2xf32>, tensor<2xf32>
}
