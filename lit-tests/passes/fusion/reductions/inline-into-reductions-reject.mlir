// RUN: %xyntra-opt %s --inline-into-reductions | FileCheck %s

#id = affine_map<(m, n) -> (m, n)>
#column = affine_map<(m, n) -> (n)>
#row = affine_map<(m, n) -> (m)>

// A kernel that works row by row computes both, and keeps the row.
// CHECK-LABEL: func.func @rows(
// CHECK: linalg.generic
// CHECK: linalg.generic
// CHECK: return
func.func @rows(%x: tensor<512x512xf16>) -> tensor<512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %s = tensor.empty() : tensor<512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<512xf32>) -> tensor<512xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<512x512xf16>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%p: f16, %o: f32):
    %w = arith.extf %p : f16 to f32
    linalg.yield %w : f32
  } -> tensor<512x512xf32>
  %1 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%0 : tensor<512x512xf32>) outs(%f : tensor<512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %d = arith.addf %o, %p : f32
    linalg.yield %d : f32
  } -> tensor<512xf32>
  return %1 : tensor<512xf32>
}

#left = affine_map<(k, m, n) -> (k, m)>
#right = affine_map<(k, m, n) -> (k, n)>
#all = affine_map<(k, m, n) -> (k, m, n)>
#result = affine_map<(k, m, n) -> (m, n)>

// A product of what lies in different places would become a contraction, which shares what it reads.
// CHECK-LABEL: func.func @product(
// CHECK: arith.mulf
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK: return
func.func @product(%x: tensor<64x32xf32>, %y: tensor<64x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x32x48xf32>
  %s = tensor.empty() : tensor<32x48xf32>
  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<32x48xf32>) -> tensor<32x48xf32>
  %0 = linalg.generic {indexing_maps = [#left, #right, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %y : tensor<64x32xf32>, tensor<64x48xf32>) outs(%e : tensor<64x32x48xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %w = arith.mulf %p, %q : f32
    linalg.yield %w : f32
  } -> tensor<64x32x48xf32>
  %1 = linalg.generic {indexing_maps = [#all, #result], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%0 : tensor<64x32x48xf32>) outs(%f : tensor<32x48xf32>) {
  ^bb0(%p: f32, %o: f32):
    %d = arith.addf %o, %p : f32
    linalg.yield %d : f32
  } -> tensor<32x48xf32>
  return %1 : tensor<32x48xf32>
}

// A sum of two tensors that is returned is stored anyway: reading it is cheaper.
// CHECK-LABEL: func.func @stored(
// CHECK: linalg.generic
// CHECK: [[SUM:%.+]] = linalg.generic
// CHECK-SAME: ins(%{{.+}} : tensor<512x512xf32>) outs
// CHECK: return
func.func @stored(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %s = tensor.empty() : tensor<512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<512xf32>) -> tensor<512xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<512x512xf32>, tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %w = arith.addf %p, %q : f32
    linalg.yield %w : f32
  } -> tensor<512x512xf32>
  %1 = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%0 : tensor<512x512xf32>) outs(%f : tensor<512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %d = arith.addf %o, %p : f32
    linalg.yield %d : f32
  } -> tensor<512xf32>
  return %0, %1 : tensor<512x512xf32>, tensor<512xf32>
}

// Elements that a loop reads several times are converted once.
// CHECK-LABEL: func.func @twice(
// CHECK: linalg.generic
// CHECK: scf.for
// CHECK: return
func.func @twice(%x: tensor<512xf16>) -> tensor<512xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %length = arith.constant 512 : index
  %e = tensor.empty() : tensor<512xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%x : tensor<512xf16>) outs(%e : tensor<512xf32>) {
  ^bb0(%p: f16, %o: f32):
    %w = arith.extf %p : f16 to f32
    linalg.yield %w : f32
  } -> tensor<512xf32>
  %1 = scf.for %i = %c0 to %c3 step %c1 iter_args(%t = %e) -> (tensor<512xf32>) {
    %2 = scf.for %j = %c0 to %length step %c1 iter_args(%u = %t) -> (tensor<512xf32>) {
      %v = tensor.extract %0[%j] : tensor<512xf32>
      %w = tensor.insert %v into %u[%j] : tensor<512xf32>
      scf.yield %w : tensor<512xf32>
    }
    scf.yield %2 : tensor<512xf32>
  }
  return %1 : tensor<512xf32>
}
