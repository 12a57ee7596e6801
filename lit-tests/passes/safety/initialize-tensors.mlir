// RUN: %xyntra-opt %s --split-input-file --initialize-tensors | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @returned
// CHECK: [[ZEROS:%.+]] = linalg.generic
// CHECK: linalg.yield %{{.*}}cst
// CHECK: return [[ZEROS]]
func.func @returned() -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  return %e : tensor<4xf32>
}

// A sum that starts from whatever is there.
// CHECK-LABEL: func.func @accumulated
// CHECK: [[ZEROS:%.+]] = linalg.generic
// CHECK: outs([[ZEROS]] : tensor<i64>)
func.func @accumulated(%x: tensor<4xi64>) -> tensor<i64> {
  %e = tensor.empty() : tensor<i64>
  %0 = linalg.generic {indexing_maps = [#id, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<4xi64>) outs(%e : tensor<i64>) {
  ^bb0(%v: i64, %s: i64):
    %n = arith.addi %v, %s : i64
    linalg.yield %n : i64
  } -> tensor<i64>
  return %0 : tensor<i64>
}

// One element of five is left out.
// CHECK-LABEL: func.func @inserted
// CHECK: [[ZEROS:%.+]] = linalg.generic
// CHECK: tensor.insert_slice %{{.+}} into [[ZEROS]]
func.func @inserted(%x: tensor<2xf32>) -> tensor<5xf32> {
  %e = tensor.empty() : tensor<5xf32>
  %0 = tensor.insert_slice %x into %e[0] [2] [1] : tensor<2xf32> into tensor<5xf32>
  %1 = tensor.insert_slice %x into %0[2] [2] [1] : tensor<2xf32> into tensor<5xf32>
  return %1 : tensor<5xf32>
}

// Slices that overlap write fewer elements than they have.
// CHECK-LABEL: func.func @overlapping
// CHECK: [[ZEROS:%.+]] = linalg.generic
// CHECK: tensor.insert_slice %{{.+}} into [[ZEROS]]
func.func @overlapping(%x: tensor<2xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = tensor.insert_slice %x into %e[0] [2] [1] : tensor<2xf32> into tensor<4xf32>
  %1 = tensor.insert_slice %x into %0[1] [2] [1] : tensor<2xf32> into tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Only the first row is written.
// CHECK-LABEL: func.func @first_row
// CHECK: [[ZEROS:%.+]] = linalg.generic
// CHECK: outs([[ZEROS]] : tensor<2x4xf32>)
func.func @first_row(%x: tensor<4xf32>) -> tensor<2x4xf32> {
  %e = tensor.empty() : tensor<2x4xf32>
  %0 = linalg.generic {indexing_maps = [#id, affine_map<(d0) -> (0, d0)>],
      iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<2x4xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// What calls kernels computes nothing by itself: there it is a constant.
// CHECK-LABEL: func.func @main
// CHECK: [[ZEROS:%.+]] = arith.constant dense<0.0{{.*}}> : tensor<4xf32>
// CHECK: call @row_k([[ZEROS]])
func.func private @row_k(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {xyntra.kernel = #xyntra.kernel<{kind = "row"}>} {
  return %x : tensor<4xf32>
}
func.func @main() -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = call @row_k(%e) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A reduction begins with what is there, even if its body does not.
// CHECK-LABEL: func.func @last
// CHECK: [[ZEROS:%.+]] = linalg.generic
// CHECK: outs([[ZEROS]] : tensor<4x2xf32>)
func.func @last(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %e = tensor.empty() : tensor<4x2xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
      affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
