// RUN: %xyntra-opt %s --inline-broadcasts | FileCheck %s

#image = affine_map<(n, t, c) -> (n, t, c)>
#channel = affine_map<(n, t, c) -> (n, c)>
#id = affine_map<(n, c) -> (n, c)>

// A function takes longer than to read what it gives.
// CHECK-LABEL: func.func @function(
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK: arith.mulf
func.func @function(%x: tensor<2x64x32xf32>, %s: tensor<2x96xf32>) -> (tensor<2x64x32xf32>) {
  %one = arith.constant 1.0 : f32
  %a = tensor.extract_slice %s[0, 32] [2, 32] [1, 1] : tensor<2x96xf32> to tensor<2x32xf32>
  %e = tensor.empty() : tensor<2x32xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<2x32xf32>) outs(%e : tensor<2x32xf32>) {
  ^bb0(%p: f32, %o: f32):
    %v = math.exp %p : f32
    linalg.yield %v : f32
  } -> tensor<2x32xf32>
  %h = tensor.empty() : tensor<2x64x32xf32>
  %1 = linalg.generic {indexing_maps = [#image, #channel, #image], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %0 : tensor<2x64x32xf32>, tensor<2x32xf32>) outs(%h : tensor<2x64x32xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %v = arith.mulf %p, %q : f32
    linalg.yield %v : f32
  } -> tensor<2x64x32xf32>
  return %1 : tensor<2x64x32xf32>
}

// Four tokens repeat little.
// CHECK-LABEL: func.func @few_tokens(
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK: linalg.generic
// CHECK: arith.mulf
func.func @few_tokens(%x: tensor<2x4x32xf32>, %s: tensor<2x96xf32>) -> (tensor<2x4x32xf32>) {
  %one = arith.constant 1.0 : f32
  %a = tensor.extract_slice %s[0, 32] [2, 32] [1, 1] : tensor<2x96xf32> to tensor<2x32xf32>
  %e = tensor.empty() : tensor<2x32xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<2x32xf32>) outs(%e : tensor<2x32xf32>) {
  ^bb0(%p: f32, %o: f32):
    %v = arith.addf %p, %one : f32
    linalg.yield %v : f32
  } -> tensor<2x32xf32>
  %h = tensor.empty() : tensor<2x4x32xf32>
  %1 = linalg.generic {indexing_maps = [#image, #channel, #image], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %0 : tensor<2x4x32xf32>, tensor<2x32xf32>) outs(%h : tensor<2x4x32xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %v = arith.mulf %p, %q : f32
    linalg.yield %v : f32
  } -> tensor<2x4x32xf32>
  return %1 : tensor<2x4x32xf32>
}

// What is returned is stored anyway.
// CHECK-LABEL: func.func @returned(
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK: linalg.generic
// CHECK: arith.mulf
func.func @returned(%x: tensor<2x64x32xf32>, %s: tensor<2x96xf32>) -> (tensor<2x64x32xf32>, tensor<2x32xf32>) {
  %one = arith.constant 1.0 : f32
  %a = tensor.extract_slice %s[0, 32] [2, 32] [1, 1] : tensor<2x96xf32> to tensor<2x32xf32>
  %e = tensor.empty() : tensor<2x32xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<2x32xf32>) outs(%e : tensor<2x32xf32>) {
  ^bb0(%p: f32, %o: f32):
    %v = arith.addf %p, %one : f32
    linalg.yield %v : f32
  } -> tensor<2x32xf32>
  %h = tensor.empty() : tensor<2x64x32xf32>
  %1 = linalg.generic {indexing_maps = [#image, #channel, #image], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %0 : tensor<2x64x32xf32>, tensor<2x32xf32>) outs(%h : tensor<2x64x32xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %v = arith.mulf %p, %q : f32
    linalg.yield %v : f32
  } -> tensor<2x64x32xf32>
  return %1, %0 : tensor<2x64x32xf32>, tensor<2x32xf32>
}

// The kernel of a contraction does what follows it.
// CHECK-LABEL: func.func @after_contraction(
// CHECK-COUNT-3: linalg.generic
// CHECK: return
func.func @after_contraction(%x: tensor<2x64x32xf32>, %s: tensor<2x8xf32>, %w: tensor<8x32xf32>) -> (tensor<2x64x32xf32>) {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %g = tensor.empty() : tensor<2x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%g : tensor<2x32xf32>) -> tensor<2x32xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%s, %w : tensor<2x8xf32>, tensor<8x32xf32>) outs(%f : tensor<2x32xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %d = arith.addf %m, %o : f32
    linalg.yield %d : f32
  } -> tensor<2x32xf32>
  %e = tensor.empty() : tensor<2x32xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<2x32xf32>) outs(%e : tensor<2x32xf32>) {
  ^bb0(%p: f32, %o: f32):
    %v = arith.addf %p, %one : f32
    linalg.yield %v : f32
  } -> tensor<2x32xf32>
  %h = tensor.empty() : tensor<2x64x32xf32>
  %1 = linalg.generic {indexing_maps = [#image, #channel, #image], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %0 : tensor<2x64x32xf32>, tensor<2x32xf32>) outs(%h : tensor<2x64x32xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %v = arith.mulf %p, %q : f32
    linalg.yield %v : f32
  } -> tensor<2x64x32xf32>
  return %1 : tensor<2x64x32xf32>
}
