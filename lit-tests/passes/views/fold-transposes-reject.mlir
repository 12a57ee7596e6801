// RUN: %xyntra-opt %s --fold-transposes | FileCheck %s

#id2 = affine_map<(d0, d1) -> (d0, d1)>
#t2 = affine_map<(d0, d1) -> (d1, d0)>

// A result of the function must be made, and no operation in front can make it.
// CHECK-LABEL: func.func @returned(
// CHECK-SAME: %[[X:.+]]: tensor<4x8xf32>)
// CHECK: %[[T:.+]] = linalg.generic {{.+}} ins(%[[X]] : tensor<4x8xf32>) outs(%{{.+}} : tensor<8x4xf32>)
// CHECK: return %[[T]]
func.func @returned(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %e0 = tensor.empty() : tensor<8x4xf32>
  %t = linalg.generic {indexing_maps = [#t2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e0 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x4xf32>
  return %t : tensor<8x4xf32>
}

// Rows of a softmax stay contiguous: it does not move in front of the transpose.
// CHECK-LABEL: func.func @rows(
// CHECK: %[[T:.+]] = linalg.generic {{.+}} outs(%{{.+}} : tensor<8x4xf32>)
// CHECK: "xyntra.softmax"(%[[T]]) {{.+}} : (tensor<8x4xf32>) -> tensor<8x4xf32>
func.func @rows(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %e0 = tensor.empty() : tensor<8x4xf32>
  %t = linalg.generic {indexing_maps = [#t2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e0 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x4xf32>
  %0 = "xyntra.softmax"(%t) {axis = 1} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %e1 = tensor.empty() : tensor<8x4xf32>
  %z = linalg.generic {indexing_maps = [#id2, #id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%0, %y : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e1 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %s = arith.addf %in, %in_1 : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  return %z : tensor<8x4xf32>
}

// Both orders are returned: one copy is needed.
// CHECK-LABEL: func.func @both(
// CHECK: %[[E:.+]] = linalg.generic {{.+}} outs(%{{.+}} : tensor<4x8xf32>)
// CHECK: math.exp
// CHECK: %[[T:.+]] = linalg.generic {{.+}} ins(%[[E]] : tensor<4x8xf32>) outs(%{{.+}} : tensor<8x4xf32>)
// CHECK: return %[[E]], %[[T]]
func.func @both(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x4xf32>) {
  %e1 = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e1 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %e0 = tensor.empty() : tensor<8x4xf32>
  %t = linalg.generic {indexing_maps = [#t2, #id2], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<4x8xf32>) outs(%e0 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x4xf32>
  return %y, %t : tensor<4x8xf32>, tensor<8x4xf32>
}

// A resize that a reduction reads would be done once for every element that it adds up.
// CHECK-LABEL: func.func @resize(
// CHECK: %[[T:.+]] = linalg.generic {{.+}} outs(%{{.+}} : tensor<8x8xf32>)
// CHECK: linalg.generic {{.+}} ins(%[[T]] : tensor<8x8xf32>)
func.func @resize(%x: tensor<4x4xf32>) -> tensor<8xf32> {
  %e0 = tensor.empty() : tensor<8x8xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 floordiv 2, d1 floordiv 2)>, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%e0 : tensor<8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x8xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id2, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%t : tensor<8x8xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %out, %in : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// An accumulator that holds more than a fill cannot be put into another order for nothing.
// CHECK-LABEL: func.func @accumulator(
// CHECK: %[[Y:.+]] = linalg.generic {{.+}} outs(%{{.+}} : tensor<4x8xf32>)
// CHECK: linalg.generic {{.+}} ins(%[[Y]] : tensor<4x8xf32>) outs(%{{.+}} : tensor<8x4xf32>)
func.func @accumulator(%x: tensor<4x8x2xf32>, %a: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<4x8x2xf32>) outs(%a : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %out, %in : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %e0 = tensor.empty() : tensor<8x4xf32>
  %t = linalg.generic {indexing_maps = [#t2, #id2], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<4x8xf32>) outs(%e0 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x4xf32>
  return %t : tensor<8x4xf32>
}

// Dynamic and empty tensors are left alone.
// CHECK-LABEL: func.func @shapes(
// CHECK: linalg.yield %in
// CHECK: linalg.yield %in
// CHECK: return
func.func @shapes(%x: tensor<?x8xf32>, %n: index, %z: tensor<0x8xf32>) -> (tensor<8x?xf32>, tensor<8x0xf32>) {
  %e = tensor.empty(%n) : tensor<8x?xf32>
  %t = linalg.generic {indexing_maps = [#t2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x8xf32>) outs(%e : tensor<8x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x?xf32>
  %e0 = tensor.empty() : tensor<8x0xf32>
  %u = linalg.generic {indexing_maps = [#t2, #id2], iterator_types = ["parallel", "parallel"]} ins(%z : tensor<0x8xf32>) outs(%e0 : tensor<8x0xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x0xf32>
  return %t, %u : tensor<8x?xf32>, tensor<8x0xf32>
}

// A statistic of fewer dimensions than its reader does not follow the order of the reader's result.
// CHECK-LABEL: func.func @statistic(
// CHECK: linalg.generic {{.+}} ins(%{{.+}}, %{{.+}} : tensor<5x1xf32>, tensor<1xf32>)
// CHECK: return
func.func @statistic(%x: tensor<5x1xf32>, %s: tensor<1xf32>) -> tensor<1x5xf32> {
  %e = tensor.empty() : tensor<1xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%s : tensor<1xf32>) outs(%e : tensor<1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = math.exp %in : f32
    linalg.yield %a : f32
  } -> tensor<1xf32>
  %f = tensor.empty() : tensor<5x1xf32>
  %1 = linalg.generic {indexing_maps = [#id2, affine_map<(d0, d1) -> (d1)>, #id2], iterator_types = ["parallel", "parallel"]} ins(%x, %0 : tensor<5x1xf32>, tensor<1xf32>) outs(%f : tensor<5x1xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %a = arith.addf %in, %in_0 : f32
    linalg.yield %a : f32
  } -> tensor<5x1xf32>
  %g = tensor.empty() : tensor<1x5xf32>
  %t = linalg.generic {indexing_maps = [#t2, #id2], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<5x1xf32>) outs(%g : tensor<1x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x5xf32>
  return %t : tensor<1x5xf32>
}

#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#t021 = affine_map<(d0, d1, d2) -> (d0, d2, d1)>

// Neighbours of the result are neighbours of the transposed tensor: reading the original would be
// slower than one copy.
// CHECK-LABEL: func.func @sampled(
// CHECK: %[[T:.+]] = linalg.generic {{.+}} outs(%{{.+}} : tensor<2x3x6xf32>)
// CHECK: tensor.extract %[[T]]
// CHECK: return
func.func @sampled(%x: tensor<2x6x3xf32>) -> tensor<2x3x6xf32> {
  %e0 = tensor.empty() : tensor<2x3x6xf32>
  %t = linalg.generic {indexing_maps = [#t021, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x6x3xf32>) outs(%e0 : tensor<2x3x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x3x6xf32>
  %e1 = tensor.empty() : tensor<2x3x6xf32>
  %y = linalg.generic {indexing_maps = [#id3], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e1 : tensor<2x3x6xf32>) {
  ^bb0(%out: f32):
    %five = arith.constant 5 : index
    %n = linalg.index 0 : index
    %c = linalg.index 1 : index
    %w = linalg.index 2 : index
    %r = arith.subi %five, %w : index
    %v = tensor.extract %t[%n, %c, %r] : tensor<2x3x6xf32>
    linalg.yield %v : f32
  } -> tensor<2x3x6xf32>
  return %y : tensor<2x3x6xf32>
}
