// RUN: %xyntra-opt %s --inline-into-gathers | FileCheck %s

#id = affine_map<(m, n) -> (m, n)>

// Of the probabilities of 1000 words one is read of each row: the gather computes it from that word's score and two
// numbers of the row, also behind a dimension of one element, and what would have stored all of them is gone.
// CHECK-LABEL: func.func @log_probability(
// CHECK-SAME: [[X:%[a-z0-9]+]]: tensor<32x1000xf16>, [[Y:%[a-z0-9]+]]: tensor<32x1xi64>)
// CHECK: [[TOP:%.+]] = linalg.generic {{.+}}"reduction"
// CHECK: arith.maximumf
// CHECK: [[SUM:%.+]] = linalg.generic {{.+}}"reduction"
// CHECK: math.exp
// CHECK-NOT: xyntra.log_softmax
// CHECK: linalg.generic {{.+}} ins([[Y]] : tensor<32x1xi64>)
// CHECK: [[E:%.+]] = tensor.extract [[X]][{{.+}}] : tensor<32x1000xf16>
// CHECK-NEXT: arith.extf [[E]]
// CHECK: tensor.extract [[TOP]]
// CHECK: arith.subf
// CHECK: tensor.extract [[SUM]]
// CHECK: math.log
// CHECK: return
func.func @log_probability(%x: tensor<32x1000xf16>, %y: tensor<32x1xi64>) -> tensor<32x1xf32> {
  %e = tensor.empty() : tensor<32x1000xf32>
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<32x1000xf16>) outs(%e : tensor<32x1000xf32>) {
  ^bb0(%p: f16, %o: f32):
    %v = arith.extf %p : f16 to f32
    linalg.yield %v : f32
  } -> tensor<32x1000xf32>
  %long = tensor.expand_shape %w [[0], [1, 2]] output_shape [32, 1, 1000] : tensor<32x1000xf32> into tensor<32x1x1000xf32>
  %l = "xyntra.log_softmax"(%long) {axis = 2 : i64} : (tensor<32x1x1000xf32>) -> tensor<32x1x1000xf32>
  %flat = tensor.collapse_shape %l [[0], [1, 2]] : tensor<32x1x1000xf32> into tensor<32x1000xf32>
  %f = tensor.empty() : tensor<32x1xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<32x1xi64>) outs(%f : tensor<32x1xf32>) {
  ^bb0(%p: i64, %o: f32):
    %i = arith.index_cast %p : i64 to index
    %m = linalg.index 0 : index
    %v = tensor.extract %flat[%m, %i] : tensor<32x1000xf32>
    linalg.yield %v : f32
  } -> tensor<32x1xf32>
  return %r : tensor<32x1xf32>
}
