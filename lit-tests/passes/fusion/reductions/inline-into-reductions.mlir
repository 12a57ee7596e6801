// RUN: %xyntra-opt %s --inline-into-reductions | FileCheck %s

#id = affine_map<(m, n) -> (m, n)>
#column = affine_map<(m, n) -> (n)>
#none = affine_map<(m, n) -> ()>

// The mean of squared differences is one reduction, of two arguments.
// CHECK-LABEL: func.func @squares(
// CHECK-SAME: [[X:%[a-z0-9]+]]: tensor<512x512xf32>, [[Y:%[a-z0-9]+]]: tensor<512x512xf32>)
// CHECK: linalg.generic {{.+}} iterator_types = ["reduction", "reduction"]} ins([[X]], [[Y]] :
// CHECK-NEXT: ^bb0
// CHECK-NEXT: [[D:%.+]] = arith.subf
// CHECK-NEXT: arith.mulf [[D]], [[D]]
// CHECK-NEXT: arith.addf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @squares(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<512x512xf32>, tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %d = arith.subf %p, %q : f32
    linalg.yield %d : f32
  } -> tensor<512x512xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %d = arith.mulf %p, %p : f32
    linalg.yield %d : f32
  } -> tensor<512x512xf32>
  %s = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %2 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]}
      ins(%1 : tensor<512x512xf32>) outs(%f : tensor<f32>) {
  ^bb0(%p: f32, %o: f32):
    %d = arith.addf %o, %p : f32
    linalg.yield %d : f32
  } -> tensor<f32>
  return %2 : tensor<f32>
}

// A conversion is cheap: the sum and what is done with the mean convert the argument each, and the
// sum over the wider copy is the one that there is already.
// CHECK-LABEL: func.func @deviations(
// CHECK-SAME: [[X:%[a-z0-9]+]]: tensor<512x512xf16>)
// CHECK: [[SUM:%.+]] = linalg.generic {{.+}} iterator_types = ["reduction", "parallel"]} ins([[X]] : {{.+}}) outs
// CHECK: linalg.generic {{.+}} iterator_types = ["reduction", "parallel"]} ins([[X]], [[SUM]] :
// CHECK-NEXT: ^bb0
// CHECK-NEXT: [[W:%.+]] = arith.extf
// CHECK-NEXT: [[D:%.+]] = arith.subf [[W]]
// CHECK-NEXT: arith.mulf [[D]], [[D]]
// CHECK-NEXT: arith.addf
// CHECK-NOT: linalg.generic
// CHECK: return [[SUM]], %
func.func @deviations(%x: tensor<512x512xf16>) -> (tensor<512xf32>, tensor<512xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %s = tensor.empty() : tensor<512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<512xf32>) -> tensor<512xf32>
  %a = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<512x512xf16>) outs(%f : tensor<512xf32>) {
  ^bb0(%p: f16, %o: f32):
    %w = arith.extf %p : f16 to f32
    %d = arith.addf %o, %w : f32
    linalg.yield %d : f32
  } -> tensor<512xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<512x512xf16>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%p: f16, %o: f32):
    %w = arith.extf %p : f16 to f32
    linalg.yield %w : f32
  } -> tensor<512x512xf32>
  %1 = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%0 : tensor<512x512xf32>) outs(%f : tensor<512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %d = arith.addf %o, %p : f32
    linalg.yield %d : f32
  } -> tensor<512xf32>
  %2 = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %1 : tensor<512x512xf32>, tensor<512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %d = arith.subf %p, %q : f32
    %r = arith.mulf %d, %d : f32
    linalg.yield %r : f32
  } -> tensor<512x512xf32>
  %3 = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%2 : tensor<512x512xf32>) outs(%f : tensor<512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %d = arith.addf %o, %p : f32
    linalg.yield %d : f32
  } -> tensor<512xf32>
  return %a, %3 : tensor<512xf32>, tensor<512xf32>
}

// A running sum converts the elements that it reads.
// CHECK-LABEL: func.func @scan(
// CHECK-SAME: [[X:%[a-z0-9]+]]: tensor<64x512xf16>)
// CHECK-NOT: linalg.generic
// CHECK: [[V:%.+]] = tensor.extract [[X]][%{{.+}}, %{{.+}}] : tensor<64x512xf16>
// CHECK-NEXT: arith.extf [[V]] : f16 to f32
// CHECK: return
func.func @scan(%x: tensor<64x512xf16>) -> tensor<64x512xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 64 : index
  %length = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x512xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x512xf16>) outs(%e : tensor<64x512xf32>) {
  ^bb0(%p: f16, %o: f32):
    %w = arith.extf %p : f16 to f32
    linalg.yield %w : f32
  } -> tensor<64x512xf32>
  %1 = scf.for %i = %c0 to %rows step %c1 iter_args(%t = %e) -> (tensor<64x512xf32>) {
    %2:2 = scf.for %j = %c0 to %length step %c1 iter_args(%u = %t, %s = %zero) -> (tensor<64x512xf32>, f32) {
      %v = tensor.extract %0[%i, %j] : tensor<64x512xf32>
      %n = arith.addf %s, %v : f32
      %w = tensor.insert %n into %u[%i, %j] : tensor<64x512xf32>
      scf.yield %w, %n : tensor<64x512xf32>, f32
    }
    scf.yield %2#0 : tensor<64x512xf32>
  }
  return %1 : tensor<64x512xf32>
}

#row = affine_map<(m, n) -> (m)>

// A weighted sum reads each element once: it is no contraction, but a reduction along columns.
// CHECK-LABEL: func.func @weights(
// CHECK: iterator_types = ["reduction", "parallel"]} ins(%arg0, %arg1 : {{.+}} attrs = {xyntra.by_rows}
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: arith.addf
// CHECK: return
func.func @weights(%x: tensor<512x512xf32>, %y: tensor<512xf32>) -> tensor<512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %s = tensor.empty() : tensor<512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<512xf32>) -> tensor<512xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<512x512xf32>, tensor<512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %w = arith.mulf %p, %q : f32
    linalg.yield %w : f32
  } -> tensor<512x512xf32>
  %1 = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%0 : tensor<512x512xf32>) outs(%f : tensor<512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %d = arith.addf %o, %p : f32
    linalg.yield %d : f32
  } -> tensor<512xf32>
  return %1 : tensor<512xf32>
}

// Small columns are reduced by launches of their own, too.
// CHECK-LABEL: func.func @small_columns(
// CHECK: iterator_types = ["reduction", "parallel"]} ins(%arg0 : tensor<64x3xf16>)
// CHECK-NOT: iterator_types = ["parallel", "parallel"]
// CHECK: return
func.func @small_columns(%x: tensor<64x3xf16>) -> tensor<3xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x3xf32>
  %s = tensor.empty() : tensor<3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<3xf32>) -> tensor<3xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x3xf16>) outs(%e : tensor<64x3xf32>) {
  ^bb0(%p: f16, %o: f32):
    %w = arith.extf %p : f16 to f32
    linalg.yield %w : f32
  } -> tensor<64x3xf32>
  %1 = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%0 : tensor<64x3xf32>) outs(%f : tensor<3xf32>) {
  ^bb0(%p: f32, %o: f32):
    %d = arith.addf %o, %p : f32
    linalg.yield %d : f32
  } -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// -----

// Each clip has 300 rows of columns that are summed: a sum widens what it reads, and the clips are
// widened for nobody but the last operation.
// CHECK-LABEL: func.func @columns_of_clips(
// CHECK-COUNT-2: ins(%{{.*}} : tensor<4x300x80xf16>)
// CHECK-NOT: ins(%{{.*}} : tensor<4x300x80xf32>)
// CHECK: return
func.func @columns_of_clips(%x: tensor<4x300x80xf16>, %zero: tensor<4x80xf32>, %wide: tensor<4x300x80xf32>)
    -> (tensor<4x80xf32>, tensor<4x80xf32>) {
  %w = linalg.generic {indexing_maps = [affine_map<(b, t, c) -> (b, t, c)>, affine_map<(b, t, c) -> (b, t, c)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<4x300x80xf16>) outs(%wide : tensor<4x300x80xf32>) {
  ^bb0(%in: f16, %out: f32):
    %e = arith.extf %in : f16 to f32
    linalg.yield %e : f32
  } -> tensor<4x300x80xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(b, t, c) -> (b, t, c)>, affine_map<(b, t, c) -> (b, c)>],
      iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%w : tensor<4x300x80xf32>) outs(%zero : tensor<4x80xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %out, %in : f32
    linalg.yield %s : f32
  } -> tensor<4x80xf32>
  %largest = linalg.generic {indexing_maps = [affine_map<(b, t, c) -> (b, t, c)>, affine_map<(b, t, c) -> (b, c)>],
      iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%w : tensor<4x300x80xf32>) outs(%zero : tensor<4x80xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.maximumf %out, %in : f32
    linalg.yield %s : f32
  } -> tensor<4x80xf32>
  return %sums, %largest : tensor<4x80xf32>, tensor<4x80xf32>
}
