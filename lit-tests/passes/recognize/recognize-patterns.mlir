// RUN: %xyntra-opt %s --recognize-patterns | FileCheck %s

// Every spelling becomes one named op that reads the arguments; nothing of it is left over.

// CHECK-LABEL: func.func @gelu_torch(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.gelu"(%[[X]]) {approximate = "none"}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @gelu_torch(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 1.000000e+00 : f32
  %cst_1 = arith.constant 1.41421354 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.divf %in, %cst_1 : f32
    %3 = math.erf %2 : f32
    %4 = arith.addf %3, %cst_0 : f32
    %5 = arith.mulf %in, %4 : f32
    %6 = arith.mulf %5, %cst : f32
    linalg.yield %6 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @gelu_half_first(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.gelu"(%[[X]]) {approximate = "none"}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @gelu_half_first(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %cst_0 = arith.constant 0.707106769 : f32
  %cst_1 = arith.constant 5.000000e-01 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.mulf %in, %cst_0 : f32
    %3 = math.erf %2 : f32
    %4 = arith.addf %3, %cst : f32
    %5 = arith.mulf %in, %cst_1 : f32
    %6 = arith.mulf %5, %4 : f32
    linalg.yield %6 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @gelu_half_on_sum(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.gelu"(%[[X]]) {approximate = "none"}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @gelu_half_on_sum(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 1.000000e+00 : f32
  %cst_1 = arith.constant 0.707106769 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.mulf %in, %cst_1 : f32
    %3 = math.erf %2 : f32
    %4 = arith.addf %3, %cst_0 : f32
    %5 = arith.mulf %4, %cst : f32
    %6 = arith.mulf %5, %in : f32
    linalg.yield %6 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @gelu_halved_by_division(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.gelu"(%[[X]]) {approximate = "none"}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @gelu_halved_by_division(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 2.000000e+00 : f32
  %cst_0 = arith.constant 1.000000e+00 : f32
  %cst_1 = arith.constant 1.41421354 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.divf %in, %cst_1 : f32
    %3 = math.erf %2 : f32
    %4 = arith.addf %3, %cst_0 : f32
    %5 = arith.mulf %4, %in : f32
    %6 = arith.divf %5, %cst : f32
    linalg.yield %6 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @gelu_reciprocal(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.gelu"(%[[X]]) {approximate = "none"}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @gelu_reciprocal(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 1.000000e+00 : f32
  %cst_1 = arith.constant 0.707106769 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.mulf %in, %cst_1 : f32
    %3 = math.erf %2 : f32
    %4 = arith.addf %3, %cst_0 : f32
    %5 = arith.mulf %in, %4 : f32
    %6 = arith.mulf %5, %cst : f32
    linalg.yield %6 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @gelu_distributed(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.gelu"(%[[X]]) {approximate = "none"}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @gelu_distributed(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 1.41421354 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.divf %in, %cst_0 : f32
    %3 = math.erf %2 : f32
    %4 = arith.mulf %3, %cst : f32
    %5 = arith.addf %4, %cst : f32
    %6 = arith.mulf %in, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @gelu_expanded(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.gelu"(%[[X]]) {approximate = "none"}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @gelu_expanded(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 1.41421354 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.mulf %in, %cst : f32
    %3 = arith.divf %in, %cst_0 : f32
    %4 = math.erf %3 : f32
    %5 = arith.mulf %2, %4 : f32
    %6 = arith.addf %2, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @gelu_tanh_power(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.gelu"(%[[X]]) {approximate = "tanh"}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @gelu_tanh_power(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 1.000000e+00 : f32
  %cst_1 = arith.constant 0.797884583 : f32
  %cst_2 = arith.constant 4.471500e-02 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.mulf %in, %in : f32
    %3 = arith.mulf %2, %in : f32
    %4 = arith.mulf %3, %cst_2 : f32
    %5 = arith.addf %in, %4 : f32
    %6 = arith.mulf %5, %cst_1 : f32
    %7 = math.tanh %6 : f32
    %8 = arith.addf %7, %cst_0 : f32
    %9 = arith.mulf %in, %cst : f32
    %10 = arith.mulf %9, %8 : f32
    linalg.yield %10 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @gelu_tanh_products(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.gelu"(%[[X]]) {approximate = "tanh"}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @gelu_tanh_products(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 1.000000e+00 : f32
  %cst_1 = arith.constant 0.797884583 : f32
  %cst_2 = arith.constant 4.471500e-02 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.mulf %in, %in : f32
    %3 = arith.mulf %2, %in : f32
    %4 = arith.mulf %3, %cst_2 : f32
    %5 = arith.addf %4, %in : f32
    %6 = arith.mulf %5, %cst_1 : f32
    %7 = math.tanh %6 : f32
    %8 = arith.addf %7, %cst_0 : f32
    %9 = arith.mulf %in, %8 : f32
    %10 = arith.mulf %9, %cst : f32
    linalg.yield %10 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @gelu_tanh_factored(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.gelu"(%[[X]]) {approximate = "tanh"}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @gelu_tanh_factored(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 0.797884583 : f32
  %cst_1 = arith.constant 1.000000e+00 : f32
  %cst_2 = arith.constant 4.471500e-02 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.mulf %in, %in : f32
    %3 = arith.mulf %2, %cst_2 : f32
    %4 = arith.addf %3, %cst_1 : f32
    %5 = arith.mulf %in, %cst_0 : f32
    %6 = arith.mulf %5, %4 : f32
    %7 = math.tanh %6 : f32
    %8 = arith.addf %7, %cst_1 : f32
    %9 = arith.mulf %in, %8 : f32
    %10 = arith.mulf %9, %cst : f32
    linalg.yield %10 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @gelu_tanh_scaled(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.gelu"(%[[X]]) {approximate = "tanh"}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @gelu_tanh_scaled(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 1.000000e+00 : f32
  %cst_1 = arith.constant 0.797884583 : f32
  %cst_2 = arith.constant 0.0356774069 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.mulf %in, %in : f32
    %3 = arith.mulf %2, %in : f32
    %4 = arith.mulf %3, %cst_2 : f32
    %5 = arith.mulf %in, %cst_1 : f32
    %6 = arith.addf %5, %4 : f32
    %7 = math.tanh %6 : f32
    %8 = arith.addf %7, %cst_0 : f32
    %9 = arith.mulf %in, %8 : f32
    %10 = arith.mulf %9, %cst : f32
    linalg.yield %10 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @gelu_tanh_scaled_factored(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.gelu"(%[[X]]) {approximate = "tanh"}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @gelu_tanh_scaled_factored(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 1.000000e+00 : f32
  %cst_1 = arith.constant 0.797884583 : f32
  %cst_2 = arith.constant 0.0356774069 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.mulf %in, %in : f32
    %3 = arith.mulf %2, %cst_2 : f32
    %4 = arith.addf %3, %cst_1 : f32
    %5 = arith.mulf %in, %4 : f32
    %6 = math.tanh %5 : f32
    %7 = arith.addf %6, %cst_0 : f32
    %8 = arith.mulf %in, %7 : f32
    %9 = arith.mulf %8, %cst : f32
    linalg.yield %9 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @gelu_tanh_distributed(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.gelu"(%[[X]]) {approximate = "tanh"}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @gelu_tanh_distributed(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 0.797884583 : f32
  %cst_1 = arith.constant 4.471500e-02 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.mulf %in, %in : f32
    %3 = arith.mulf %2, %in : f32
    %4 = arith.mulf %3, %cst_1 : f32
    %5 = arith.addf %in, %4 : f32
    %6 = arith.mulf %5, %cst_0 : f32
    %7 = math.tanh %6 : f32
    %8 = arith.mulf %7, %cst : f32
    %9 = arith.addf %8, %cst : f32
    %10 = arith.mulf %in, %9 : f32
    linalg.yield %10 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @silu_sigmoid(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.silu"(%[[X]])
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @silu_sigmoid(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.negf %in : f32
    %3 = math.exp %2 : f32
    %4 = arith.addf %3, %cst : f32
    %5 = arith.divf %cst, %4 : f32
    %6 = arith.mulf %in, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @silu_sigmoid_first(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.silu"(%[[X]])
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @silu_sigmoid_first(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.negf %in : f32
    %3 = math.exp %2 : f32
    %4 = arith.addf %3, %cst : f32
    %5 = arith.divf %cst, %4 : f32
    %6 = arith.mulf %5, %in : f32
    linalg.yield %6 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @silu_quotient(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.silu"(%[[X]])
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @silu_quotient(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.negf %in : f32
    %3 = math.exp %2 : f32
    %4 = arith.addf %3, %cst : f32
    %5 = arith.divf %in, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @silu_reciprocal(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.silu"(%[[X]])
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @silu_reciprocal(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.negf %in : f32
    %3 = math.exp %2 : f32
    %4 = arith.addf %3, %cst : f32
    %5 = arith.divf %cst, %4 : f32
    %6 = arith.mulf %5, %in : f32
    linalg.yield %6 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @silu_minus_one(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.silu"(%[[X]])
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @silu_minus_one(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %cst_0 = arith.constant -1.000000e+00 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.mulf %in, %cst_0 : f32
    %3 = math.exp %2 : f32
    %4 = arith.addf %3, %cst : f32
    %5 = arith.divf %in, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @softmax_last_axis(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.softmax"(%[[X]]) {axis = 2 : i64}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @softmax_last_axis(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<3x4x1xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%0 : tensor<3x4x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_0 : f32
  } -> tensor<3x4x1xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%1 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = arith.maximumf %out, %in : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x1xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_2: f32, %out: f32):
    %8 = arith.subf %in, %in_2 : f32
    %9 = math.exp %8 : f32
    linalg.yield %9 : f32
  } -> tensor<3x4x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%0 : tensor<3x4x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst : f32
  } -> tensor<3x4x1xf32>
  %expanded_1 = tensor.expand_shape %4 [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_1 : tensor<3x4x1x8xf32>) outs(%5 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = arith.addf %out, %in : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x1xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4, %6 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_2: f32, %out: f32):
    %8 = arith.divf %in, %in_2 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x8xf32>
  return %7 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @softmax_first_axis(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.softmax"(%[[X]]) {axis = 0 : i64}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @softmax_first_axis(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<1x4x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%0 : tensor<1x4x8xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_0 : f32
  } -> tensor<1x4x8xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 1, 4, 8] : tensor<3x4x8xf32> into tensor<3x1x4x8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>], iterator_types = ["reduction", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<3x1x4x8xf32>) outs(%1 : tensor<1x4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = arith.maximumf %out, %in : f32
    linalg.yield %8 : f32
  } -> tensor<1x4x8xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<1x4x8xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_2: f32, %out: f32):
    %8 = arith.subf %in, %in_2 : f32
    %9 = math.exp %8 : f32
    linalg.yield %9 : f32
  } -> tensor<3x4x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%0 : tensor<1x4x8xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst : f32
  } -> tensor<1x4x8xf32>
  %expanded_1 = tensor.expand_shape %4 [[0], [1, 2], [3]] output_shape [3, 1, 4, 8] : tensor<3x4x8xf32> into tensor<3x1x4x8xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>], iterator_types = ["reduction", "parallel", "parallel", "parallel"]} ins(%expanded_1 : tensor<3x1x4x8xf32>) outs(%5 : tensor<1x4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = arith.addf %out, %in : f32
    linalg.yield %8 : f32
  } -> tensor<1x4x8xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4, %6 : tensor<3x4x8xf32>, tensor<1x4x8xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_2: f32, %out: f32):
    %8 = arith.divf %in, %in_2 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x8xf32>
  return %7 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @softmax_reciprocal(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.softmax"(%[[X]]) {axis = 1 : i64}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @softmax_reciprocal(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %cst_1 = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<3x1x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%0 : tensor<3x1x8xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_1 : f32
  } -> tensor<3x1x8xf32>
  %expanded = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>], iterator_types = ["parallel", "reduction", "parallel", "parallel"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%1 : tensor<3x1x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = arith.maximumf %out, %in : f32
    linalg.yield %8 : f32
  } -> tensor<3x1x8xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, 0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<3x1x8xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %8 = arith.subf %in, %in_3 : f32
    %9 = math.exp %8 : f32
    linalg.yield %9 : f32
  } -> tensor<3x4x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%0 : tensor<3x1x8xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_0 : f32
  } -> tensor<3x1x8xf32>
  %expanded_2 = tensor.expand_shape %4 [[0], [1], [2, 3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>], iterator_types = ["parallel", "reduction", "parallel", "parallel"]} ins(%expanded_2 : tensor<3x4x1x8xf32>) outs(%5 : tensor<3x1x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = arith.addf %out, %in : f32
    linalg.yield %8 : f32
  } -> tensor<3x1x8xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, 0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%6, %4 : tensor<3x1x8xf32>, tensor<3x4x8xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %8 = arith.divf %cst, %in : f32
    %9 = arith.mulf %8, %in_3 : f32
    linalg.yield %9 : f32
  } -> tensor<3x4x8xf32>
  return %7 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @softmax_negated_max(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.softmax"(%[[X]]) {axis = 2 : i64}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @softmax_negated_max(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<3x4x1xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%0 : tensor<3x4x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_0 : f32
  } -> tensor<3x4x1xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%1 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = arith.maximumf %out, %in : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x1xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_2: f32, %out: f32):
    %8 = arith.subf %in, %in_2 : f32
    %9 = math.exp %8 : f32
    linalg.yield %9 : f32
  } -> tensor<3x4x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%0 : tensor<3x4x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst : f32
  } -> tensor<3x4x1xf32>
  %expanded_1 = tensor.expand_shape %4 [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_1 : tensor<3x4x1x8xf32>) outs(%5 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = arith.addf %out, %in : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x1xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4, %6 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_2: f32, %out: f32):
    %8 = arith.divf %in, %in_2 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x8xf32>
  return %7 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @softmax_log(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.log_softmax"(%[[X]]) {axis = 2 : i64}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @softmax_log(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<3x4x1xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%0 : tensor<3x4x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_0 : f32
  } -> tensor<3x4x1xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%1 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = arith.maximumf %out, %in : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x1xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_2: f32, %out: f32):
    %8 = arith.subf %in, %in_2 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%0 : tensor<3x4x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst : f32
  } -> tensor<3x4x1xf32>
  %expanded_1 = tensor.expand_shape %4 [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_1 : tensor<3x4x1x8xf32>) outs(%5 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = math.exp %in : f32
    %9 = arith.addf %out, %8 : f32
    linalg.yield %9 : f32
  } -> tensor<3x4x1xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4, %6 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_2: f32, %out: f32):
    %8 = math.log %in_2 : f32
    %9 = arith.subf %in, %8 : f32
    linalg.yield %9 : f32
  } -> tensor<3x4x8xf32>
  return %7 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @softmax_log_summed(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.log_softmax"(%[[X]]) {axis = 1 : i64}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @softmax_log_summed(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<3x8xf32>
  %1 = tensor.empty() : tensor<3x1x8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%1 : tensor<3x1x8xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_0 : f32
  } -> tensor<3x1x8xf32>
  %expanded = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>], iterator_types = ["parallel", "reduction", "parallel", "parallel"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%2 : tensor<3x1x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = arith.maximumf %out, %in : f32
    linalg.yield %8 : f32
  } -> tensor<3x1x8xf32>
  %4 = tensor.empty() : tensor<3x4x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<3x8xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst : f32
  } -> tensor<3x8xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, 0, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%x, %3 : tensor<3x4x8xf32>, tensor<3x1x8xf32>) outs(%5 : tensor<3x8xf32>) {
  ^bb0(%in: f32, %in_2: f32, %out: f32):
    %8 = arith.subf %in, %in_2 : f32
    %9 = math.exp %8 : f32
    %10 = arith.addf %out, %9 : f32
    linalg.yield %10 : f32
  } -> tensor<3x8xf32>
  %expanded_1 = tensor.expand_shape %6 [[0], [1, 2]] output_shape [3, 1, 8] : tensor<3x8xf32> into tensor<3x1x8xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, 0, d2)>, affine_map<(d0, d1, d2) -> (d0, 0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %expanded_1, %3 : tensor<3x4x8xf32>, tensor<3x1x8xf32>, tensor<3x1x8xf32>) outs(%4 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_2: f32, %in_3: f32, %out: f32):
    %8 = math.log %in_2 : f32
    %9 = arith.addf %8, %in_3 : f32
    %10 = arith.subf %in, %9 : f32
    linalg.yield %10 : f32
  } -> tensor<3x4x8xf32>
  return %7 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @layer_norm_torch(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}, %[[A:[^:]+]]: {{[^,]+}}, %[[B:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.layer_norm"(%[[X]], %[[A]], %[[B]]) {axis = 2 : i64, epsilon = 9.99999974E-6 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @layer_norm_torch(%x: tensor<3x4x8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 9.99999974E-6 : f32
  %cst_0 = arith.constant 8.000000e+00 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<3x4xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_1 : f32
  } -> tensor<3x4xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %expanded_2 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [3, 4, 1] : tensor<3x4xf32> into tensor<3x4x1xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%expanded_2 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.addf %out, %in : f32
    linalg.yield %7 : f32
  } -> tensor<3x4x1xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_4: f32, %out: f32):
    %7 = arith.divf %in_4, %cst_0 : f32
    %8 = arith.subf %in, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x8xf32>
  %expanded_3 = tensor.expand_shape %4 [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_3 : tensor<3x4x1x8xf32>) outs(%expanded_2 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.mulf %in, %in : f32
    %8 = arith.addf %out, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x1xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4, %5, %arg1, %arg2 : tensor<3x4x8xf32>, tensor<3x4x1xf32>, tensor<8xf32>, tensor<8xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_4: f32, %in_5: f32, %in_6: f32, %out: f32):
    %7 = arith.divf %in_4, %cst_0 : f32
    %8 = arith.addf %7, %cst : f32
    %9 = math.sqrt %8 : f32
    %10 = arith.divf %in, %9 : f32
    %11 = arith.mulf %10, %in_5 : f32
    %12 = arith.addf %11, %in_6 : f32
    linalg.yield %12 : f32
  } -> tensor<3x4x8xf32>
  return %6 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @layer_norm_product(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}, %[[A:[^:]+]]: {{[^,]+}}, %[[B:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.layer_norm"(%[[X]], %[[A]], %[[B]]) {axis = 2 : i64, epsilon = 9.99999974E-6 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @layer_norm_product(%x: tensor<3x4x8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 9.99999974E-6 : f32
  %cst_0 = arith.constant 8.000000e+00 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<3x4xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_1 : f32
  } -> tensor<3x4xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %expanded_2 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [3, 4, 1] : tensor<3x4xf32> into tensor<3x4x1xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%expanded_2 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.addf %out, %in : f32
    linalg.yield %7 : f32
  } -> tensor<3x4x1xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_4: f32, %out: f32):
    %7 = arith.divf %in_4, %cst_0 : f32
    %8 = arith.subf %in, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x8xf32>
  %expanded_3 = tensor.expand_shape %4 [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_3 : tensor<3x4x1x8xf32>) outs(%expanded_2 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.mulf %in, %in : f32
    %8 = arith.addf %out, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x1xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg2, %arg1, %4, %5 : tensor<8xf32>, tensor<8xf32>, tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_4: f32, %in_5: f32, %in_6: f32, %out: f32):
    %7 = arith.divf %in_6, %cst_0 : f32
    %8 = arith.addf %7, %cst : f32
    %9 = math.sqrt %8 : f32
    %10 = arith.divf %in_5, %9 : f32
    %11 = arith.mulf %in_4, %10 : f32
    %12 = arith.addf %in, %11 : f32
    linalg.yield %12 : f32
  } -> tensor<3x4x8xf32>
  return %6 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @layer_norm_reciprocal(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}, %[[A:[^:]+]]: {{[^,]+}}, %[[B:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.layer_norm"(%[[X]], %[[A]], %[[B]]) {axis = 2 : i64, epsilon = 9.99999974E-6 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @layer_norm_reciprocal(%x: tensor<3x4x8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %cst_0 = arith.constant 9.99999974E-6 : f32
  %cst_1 = arith.constant 8.000000e+00 : f32
  %cst_2 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<3x4xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_2 : f32
  } -> tensor<3x4xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %expanded_3 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [3, 4, 1] : tensor<3x4xf32> into tensor<3x4x1xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%expanded_3 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.addf %out, %in : f32
    linalg.yield %7 : f32
  } -> tensor<3x4x1xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %7 = arith.divf %in_5, %cst_1 : f32
    %8 = arith.subf %in, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x8xf32>
  %expanded_4 = tensor.expand_shape %4 [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_4 : tensor<3x4x1x8xf32>) outs(%expanded_3 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.mulf %in, %in : f32
    %8 = arith.addf %out, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x1xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4, %5, %arg1, %arg2 : tensor<3x4x8xf32>, tensor<3x4x1xf32>, tensor<8xf32>, tensor<8xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %in_6: f32, %in_7: f32, %out: f32):
    %7 = arith.divf %in_5, %cst_1 : f32
    %8 = arith.addf %7, %cst_0 : f32
    %9 = math.sqrt %8 : f32
    %10 = arith.divf %cst, %9 : f32
    %11 = arith.mulf %in, %10 : f32
    %12 = arith.mulf %11, %in_6 : f32
    %13 = arith.addf %12, %in_7 : f32
    linalg.yield %13 : f32
  } -> tensor<3x4x8xf32>
  return %6 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @layer_norm_scale_first(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}, %[[A:[^:]+]]: {{[^,]+}}, %[[B:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.layer_norm"(%[[X]], %[[A]], %[[B]]) {axis = 2 : i64, epsilon = 9.99999974E-6 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @layer_norm_scale_first(%x: tensor<3x4x8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %cst_0 = arith.constant 9.99999974E-6 : f32
  %cst_1 = arith.constant 8.000000e+00 : f32
  %cst_2 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<3x4xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_2 : f32
  } -> tensor<3x4xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %expanded_3 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [3, 4, 1] : tensor<3x4xf32> into tensor<3x4x1xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%expanded_3 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.addf %out, %in : f32
    linalg.yield %7 : f32
  } -> tensor<3x4x1xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %7 = arith.divf %in_5, %cst_1 : f32
    %8 = arith.subf %in, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x8xf32>
  %expanded_4 = tensor.expand_shape %4 [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_4 : tensor<3x4x1x8xf32>) outs(%expanded_3 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.mulf %in, %in : f32
    %8 = arith.addf %out, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x1xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4, %5, %arg1, %arg2 : tensor<3x4x8xf32>, tensor<3x4x1xf32>, tensor<8xf32>, tensor<8xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %in_6: f32, %in_7: f32, %out: f32):
    %7 = arith.divf %in_5, %cst_1 : f32
    %8 = arith.addf %7, %cst_0 : f32
    %9 = math.sqrt %8 : f32
    %10 = arith.divf %cst, %9 : f32
    %11 = arith.mulf %10, %in_6 : f32
    %12 = arith.mulf %in, %11 : f32
    %13 = arith.addf %12, %in_7 : f32
    linalg.yield %13 : f32
  } -> tensor<3x4x8xf32>
  return %6 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @layer_norm_affine(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}, %[[A:[^:]+]]: {{[^,]+}}, %[[B:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.layer_norm"(%[[X]], %[[A]], %[[B]]) {axis = 2 : i64, epsilon = 9.99999974E-6 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @layer_norm_affine(%x: tensor<3x4x8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %cst_0 = arith.constant 9.99999974E-6 : f32
  %cst_1 = arith.constant 8.000000e+00 : f32
  %cst_2 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<3x4xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_2 : f32
  } -> tensor<3x4xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %expanded_3 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [3, 4, 1] : tensor<3x4xf32> into tensor<3x4x1xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%expanded_3 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = arith.addf %out, %in : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x1xf32>
  %3 = tensor.empty() : tensor<3x4x1xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2 : tensor<3x4x1xf32>) outs(%3 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = arith.divf %in, %cst_1 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x1xf32>
  %5 = tensor.empty() : tensor<3x4x8xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %4 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%1 : tensor<3x4xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %8 = arith.subf %in, %in_5 : f32
    %9 = arith.mulf %8, %8 : f32
    %10 = arith.addf %out, %9 : f32
    linalg.yield %10 : f32
  } -> tensor<3x4xf32>
  %expanded_4 = tensor.expand_shape %6 [[0], [1, 2]] output_shape [3, 4, 1] : tensor<3x4xf32> into tensor<3x4x1xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %expanded_4, %arg1, %arg2, %4 : tensor<3x4x8xf32>, tensor<3x4x1xf32>, tensor<8xf32>, tensor<8xf32>, tensor<3x4x1xf32>) outs(%5 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %in_6: f32, %in_7: f32, %in_8: f32, %out: f32):
    %8 = arith.divf %in_5, %cst_1 : f32
    %9 = arith.addf %8, %cst_0 : f32
    %10 = math.sqrt %9 : f32
    %11 = arith.divf %cst, %10 : f32
    %12 = arith.mulf %11, %in_6 : f32
    %13 = arith.mulf %in_8, %12 : f32
    %14 = arith.subf %in_7, %13 : f32
    %15 = arith.mulf %in, %12 : f32
    %16 = arith.addf %15, %14 : f32
    linalg.yield %16 : f32
  } -> tensor<3x4x8xf32>
  return %7 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @layer_norm_half_power(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}, %[[A:[^:]+]]: {{[^,]+}}, %[[B:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.layer_norm"(%[[X]], %[[A]], %[[B]]) {axis = 2 : i64, epsilon = 9.99999974E-6 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @layer_norm_half_power(%x: tensor<3x4x8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 9.99999974E-6 : f32
  %cst_1 = arith.constant 8.000000e+00 : f32
  %cst_2 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<3x4xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_2 : f32
  } -> tensor<3x4xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %expanded_3 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [3, 4, 1] : tensor<3x4xf32> into tensor<3x4x1xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%expanded_3 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.addf %out, %in : f32
    linalg.yield %7 : f32
  } -> tensor<3x4x1xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %7 = arith.divf %in_5, %cst_1 : f32
    %8 = arith.subf %in, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x8xf32>
  %expanded_4 = tensor.expand_shape %4 [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_4 : tensor<3x4x1x8xf32>) outs(%expanded_3 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.mulf %in, %in : f32
    %8 = arith.addf %out, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x1xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg2, %arg1, %4, %5 : tensor<8xf32>, tensor<8xf32>, tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %in_6: f32, %in_7: f32, %out: f32):
    %7 = arith.divf %in_7, %cst_1 : f32
    %8 = arith.addf %7, %cst_0 : f32
    %9 = math.powf %8, %cst : f32
    %10 = arith.divf %in_6, %9 : f32
    %11 = arith.mulf %in_5, %10 : f32
    %12 = arith.addf %in, %11 : f32
    linalg.yield %12 : f32
  } -> tensor<3x4x8xf32>
  return %6 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @layer_norm_sum_of_squares(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}, %[[A:[^:]+]]: {{[^,]+}}, %[[B:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.layer_norm"(%[[X]], %[[A]], %[[B]]) {axis = 2 : i64, epsilon = 9.99999974E-6 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @layer_norm_sum_of_squares(%x: tensor<3x4x8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 9.99999974E-6 : f32
  %cst_0 = arith.constant 8.000000e+00 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<3x4xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_1 : f32
  } -> tensor<3x4xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %expanded_2 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [3, 4, 1] : tensor<3x4xf32> into tensor<3x4x1xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%expanded_2 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.addf %out, %in : f32
    linalg.yield %7 : f32
  } -> tensor<3x4x1xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_4: f32, %out: f32):
    %7 = arith.divf %in_4, %cst_0 : f32
    %8 = arith.subf %in, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x8xf32>
  %expanded_3 = tensor.expand_shape %4 [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_3 : tensor<3x4x1x8xf32>) outs(%expanded_2 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.mulf %in, %in : f32
    %8 = arith.addf %out, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x1xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg2, %arg1, %4, %5 : tensor<8xf32>, tensor<8xf32>, tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_4: f32, %in_5: f32, %in_6: f32, %out: f32):
    %7 = arith.divf %in_6, %cst_0 : f32
    %8 = arith.addf %7, %cst : f32
    %9 = math.sqrt %8 : f32
    %10 = arith.divf %in_5, %9 : f32
    %11 = arith.mulf %in_4, %10 : f32
    %12 = arith.addf %in, %11 : f32
    linalg.yield %12 : f32
  } -> tensor<3x4x8xf32>
  return %6 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @layer_norm_scaled(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}, %[[A:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.layer_norm"(%[[X]], %[[A]]) {axis = 2 : i64, epsilon = 9.99999974E-6 : f32, operandSegmentSizes = array<i32: 1, 1, 0>}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @layer_norm_scaled(%x: tensor<3x4x8xf32>, %arg1: tensor<8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 9.99999974E-6 : f32
  %cst_0 = arith.constant 8.000000e+00 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<3x4xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_1 : f32
  } -> tensor<3x4xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %expanded_2 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [3, 4, 1] : tensor<3x4xf32> into tensor<3x4x1xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%expanded_2 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.addf %out, %in : f32
    linalg.yield %7 : f32
  } -> tensor<3x4x1xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_4: f32, %out: f32):
    %7 = arith.divf %in_4, %cst_0 : f32
    %8 = arith.subf %in, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x8xf32>
  %expanded_3 = tensor.expand_shape %4 [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_3 : tensor<3x4x1x8xf32>) outs(%expanded_2 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.mulf %in, %in : f32
    %8 = arith.addf %out, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x1xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4, %5, %arg1 : tensor<3x4x8xf32>, tensor<3x4x1xf32>, tensor<8xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_4: f32, %in_5: f32, %out: f32):
    %7 = arith.divf %in_4, %cst_0 : f32
    %8 = arith.addf %7, %cst : f32
    %9 = math.sqrt %8 : f32
    %10 = arith.divf %in, %9 : f32
    %11 = arith.mulf %10, %in_5 : f32
    linalg.yield %11 : f32
  } -> tensor<3x4x8xf32>
  return %6 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @layer_norm_shifted(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}, %[[A:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.layer_norm"(%[[X]], %[[A]]) {axis = 2 : i64, epsilon = 9.99999974E-6 : f32, operandSegmentSizes = array<i32: 1, 0, 1>}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @layer_norm_shifted(%x: tensor<3x4x8xf32>, %arg1: tensor<8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 9.99999974E-6 : f32
  %cst_0 = arith.constant 8.000000e+00 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<3x4xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_1 : f32
  } -> tensor<3x4xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %expanded_2 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [3, 4, 1] : tensor<3x4xf32> into tensor<3x4x1xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%expanded_2 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.addf %out, %in : f32
    linalg.yield %7 : f32
  } -> tensor<3x4x1xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_4: f32, %out: f32):
    %7 = arith.divf %in_4, %cst_0 : f32
    %8 = arith.subf %in, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x8xf32>
  %expanded_3 = tensor.expand_shape %4 [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_3 : tensor<3x4x1x8xf32>) outs(%expanded_2 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.mulf %in, %in : f32
    %8 = arith.addf %out, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x1xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4, %5, %arg1 : tensor<3x4x8xf32>, tensor<3x4x1xf32>, tensor<8xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_4: f32, %in_5: f32, %out: f32):
    %7 = arith.divf %in_4, %cst_0 : f32
    %8 = arith.addf %7, %cst : f32
    %9 = math.sqrt %8 : f32
    %10 = arith.divf %in, %9 : f32
    %11 = arith.addf %10, %in_5 : f32
    linalg.yield %11 : f32
  } -> tensor<3x4x8xf32>
  return %6 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @layer_norm_plain(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.layer_norm"(%[[X]]) {axis = 2 : i64, epsilon = 9.99999974E-6 : f32, operandSegmentSizes = array<i32: 1, 0, 0>}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @layer_norm_plain(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 9.99999974E-6 : f32
  %cst_0 = arith.constant 8.000000e+00 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<3x4xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_1 : f32
  } -> tensor<3x4xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %expanded_2 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [3, 4, 1] : tensor<3x4xf32> into tensor<3x4x1xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%expanded_2 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.addf %out, %in : f32
    linalg.yield %7 : f32
  } -> tensor<3x4x1xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_4: f32, %out: f32):
    %7 = arith.divf %in_4, %cst_0 : f32
    %8 = arith.subf %in, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x8xf32>
  %expanded_3 = tensor.expand_shape %4 [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_3 : tensor<3x4x1x8xf32>) outs(%expanded_2 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.mulf %in, %in : f32
    %8 = arith.addf %out, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x1xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4, %5 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_4: f32, %out: f32):
    %7 = arith.divf %in_4, %cst_0 : f32
    %8 = arith.addf %7, %cst : f32
    %9 = math.sqrt %8 : f32
    %10 = arith.divf %in, %9 : f32
    linalg.yield %10 : f32
  } -> tensor<3x4x8xf32>
  return %6 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @layer_norm_two_axes(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}, %[[A:[^:]+]]: {{[^,]+}}, %[[B:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.layer_norm"(%[[X]], %[[A]], %[[B]]) {axis = 1 : i64, epsilon = 9.99999974E-6 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @layer_norm_two_axes(%x: tensor<3x4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 9.99999974E-6 : f32
  %cst_0 = arith.constant 3.200000e+01 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%0 : tensor<3xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_1 : f32
  } -> tensor<3xf32>
  %expanded = tensor.expand_shape %x [[0, 1, 2], [3], [4]] output_shape [3, 1, 1, 4, 8] : tensor<3x4x8xf32> into tensor<3x1x1x4x8xf32>
  %expanded_2 = tensor.expand_shape %1 [[0, 1, 2]] output_shape [3, 1, 1] : tensor<3xf32> into tensor<3x1x1xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%expanded : tensor<3x1x1x4x8xf32>) outs(%expanded_2 : tensor<3x1x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.addf %out, %in : f32
    linalg.yield %7 : f32
  } -> tensor<3x1x1xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, 0, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<3x1x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_4: f32, %out: f32):
    %7 = arith.divf %in_4, %cst_0 : f32
    %8 = arith.subf %in, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x8xf32>
  %expanded_3 = tensor.expand_shape %4 [[0, 1, 2], [3], [4]] output_shape [3, 1, 1, 4, 8] : tensor<3x4x8xf32> into tensor<3x1x1x4x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%expanded_3 : tensor<3x1x1x4x8xf32>) outs(%expanded_2 : tensor<3x1x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.mulf %in, %in : f32
    %8 = arith.addf %out, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x1x1xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, 0, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg2, %arg1, %4, %5 : tensor<8xf32>, tensor<4x8xf32>, tensor<3x4x8xf32>, tensor<3x1x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_4: f32, %in_5: f32, %in_6: f32, %out: f32):
    %7 = arith.divf %in_6, %cst_0 : f32
    %8 = arith.addf %7, %cst : f32
    %9 = math.sqrt %8 : f32
    %10 = arith.divf %in_5, %9 : f32
    %11 = arith.mulf %in_4, %10 : f32
    %12 = arith.addf %in, %11 : f32
    linalg.yield %12 : f32
  } -> tensor<3x4x8xf32>
  return %6 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @rms_norm_quotient(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}, %[[A:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.rms_norm"(%[[X]], %[[A]]) {axis = 2 : i64, epsilon = 9.99999974E-6 : f32, operandSegmentSizes = array<i32: 1, 1>}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @rms_norm_quotient(%x: tensor<3x4x8xf32>, %arg1: tensor<8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 9.99999974E-6 : f32
  %cst_0 = arith.constant 8.000000e+00 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4x8xf32>
  %1 = tensor.empty() : tensor<3x4x1xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%1 : tensor<3x4x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_1 : f32
  } -> tensor<3x4x1xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%2 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %5 = arith.mulf %in, %in : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<3x4x1xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %3, %arg1 : tensor<3x4x8xf32>, tensor<3x4x1xf32>, tensor<8xf32>) outs(%0 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_2: f32, %in_3: f32, %out: f32):
    %5 = arith.divf %in_2, %cst_0 : f32
    %6 = arith.addf %5, %cst : f32
    %7 = math.sqrt %6 : f32
    %8 = arith.divf %in, %7 : f32
    %9 = arith.mulf %8, %in_3 : f32
    linalg.yield %9 : f32
  } -> tensor<3x4x8xf32>
  return %4 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @rms_norm_torch(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}, %[[A:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.rms_norm"(%[[X]], %[[A]]) {axis = 2 : i64, epsilon = 9.99999974E-6 : f32, operandSegmentSizes = array<i32: 1, 1>}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @rms_norm_torch(%x: tensor<3x4x8xf32>, %arg1: tensor<8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %cst_0 = arith.constant 9.99999974E-6 : f32
  %cst_1 = arith.constant 8.000000e+00 : f32
  %cst_2 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4x8xf32>
  %1 = tensor.empty() : tensor<3x4x1xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%1 : tensor<3x4x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_2 : f32
  } -> tensor<3x4x1xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%2 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %5 = arith.mulf %in, %in : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<3x4x1xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1, %x, %3 : tensor<8xf32>, tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%0 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_3: f32, %in_4: f32, %out: f32):
    %5 = arith.divf %in_4, %cst_1 : f32
    %6 = arith.addf %5, %cst_0 : f32
    %7 = math.sqrt %6 : f32
    %8 = arith.divf %cst, %7 : f32
    %9 = arith.mulf %in_3, %8 : f32
    %10 = arith.mulf %in, %9 : f32
    linalg.yield %10 : f32
  } -> tensor<3x4x8xf32>
  return %4 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @rms_norm_one_over(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}, %[[A:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.rms_norm"(%[[X]], %[[A]]) {axis = 2 : i64, epsilon = 9.99999974E-6 : f32, operandSegmentSizes = array<i32: 1, 1>}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @rms_norm_one_over(%x: tensor<3x4x8xf32>, %arg1: tensor<8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %cst_0 = arith.constant 9.99999974E-6 : f32
  %cst_1 = arith.constant 8.000000e+00 : f32
  %cst_2 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4x8xf32>
  %1 = tensor.empty() : tensor<3x4x1xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%1 : tensor<3x4x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_2 : f32
  } -> tensor<3x4x1xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%2 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %5 = arith.mulf %in, %in : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<3x4x1xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%3, %x, %arg1 : tensor<3x4x1xf32>, tensor<3x4x8xf32>, tensor<8xf32>) outs(%0 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_3: f32, %in_4: f32, %out: f32):
    %5 = arith.divf %in, %cst_1 : f32
    %6 = arith.addf %5, %cst_0 : f32
    %7 = math.sqrt %6 : f32
    %8 = arith.divf %cst, %7 : f32
    %9 = arith.mulf %8, %in_3 : f32
    %10 = arith.mulf %9, %in_4 : f32
    linalg.yield %10 : f32
  } -> tensor<3x4x8xf32>
  return %4 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @rms_norm_scale_first(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}, %[[A:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.rms_norm"(%[[X]], %[[A]]) {axis = 2 : i64, epsilon = 9.99999974E-6 : f32, operandSegmentSizes = array<i32: 1, 1>}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @rms_norm_scale_first(%x: tensor<3x4x8xf32>, %arg1: tensor<8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %cst_0 = arith.constant 9.99999974E-6 : f32
  %cst_1 = arith.constant 8.000000e+00 : f32
  %cst_2 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4x8xf32>
  %1 = tensor.empty() : tensor<3x4x1xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%1 : tensor<3x4x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_2 : f32
  } -> tensor<3x4x1xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%2 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %5 = arith.mulf %in, %in : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<3x4x1xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %arg1, %3 : tensor<3x4x8xf32>, tensor<8xf32>, tensor<3x4x1xf32>) outs(%0 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_3: f32, %in_4: f32, %out: f32):
    %5 = arith.divf %in_4, %cst_1 : f32
    %6 = arith.addf %5, %cst_0 : f32
    %7 = math.sqrt %6 : f32
    %8 = arith.divf %cst, %7 : f32
    %9 = arith.mulf %in_3, %8 : f32
    %10 = arith.mulf %in, %9 : f32
    linalg.yield %10 : f32
  } -> tensor<3x4x8xf32>
  return %4 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @rms_norm_plain(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}
// CHECK-NOT: linalg.generic
// CHECK: %[[Y:.+]] = "xyntra.rms_norm"(%[[X]]) {axis = 2 : i64, epsilon = 9.99999974E-6 : f32, operandSegmentSizes = array<i32: 1, 0>}
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @rms_norm_plain(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 9.99999974E-6 : f32
  %cst_0 = arith.constant 8.000000e+00 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4x8xf32>
  %1 = tensor.empty() : tensor<3x4x1xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%1 : tensor<3x4x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_1 : f32
  } -> tensor<3x4x1xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%2 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %5 = arith.mulf %in, %in : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<3x4x1xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %3 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%0 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_2: f32, %out: f32):
    %5 = arith.divf %in_2, %cst_0 : f32
    %6 = arith.addf %5, %cst : f32
    %7 = math.sqrt %6 : f32
    %8 = arith.divf %in, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x8xf32>
  return %4 : tensor<3x4x8xf32>
}

// A mask that keeps everything is no operation.
// CHECK-LABEL: func.func @dropout_of_nothing(
// CHECK-SAME: %[[X:[^:]+]]: {{[^,]+}}, %{{.+}})
// CHECK-NOT: linalg.generic
// CHECK: return %[[X]], %[[X]]
func.func @dropout_of_nothing(%x: tensor<5x16xf32>, %z: tensor<5x16xf32>) -> (tensor<5x16xf32>, tensor<5x16xf32>) {
  %cst = arith.constant 0.000000e+00 : f32
  %mask = arith.constant dense<true> : tensor<5x16xi1>
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%mask, %x : tensor<5x16xi1>, tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: i1, %in_0: f32, %out: f32):
    %3 = arith.select %in, %in_0, %cst : f32
    linalg.yield %3 : f32
  } -> tensor<5x16xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%mask, %x, %z : tensor<5x16xi1>, tensor<5x16xf32>, tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: i1, %in_0: f32, %in_1: f32, %out: f32):
    %3 = arith.select %in, %in_0, %in_1 : f32
    linalg.yield %3 : f32
  } -> tensor<5x16xf32>
  return %1, %2 : tensor<5x16xf32>, tensor<5x16xf32>
}

// The mask of NaNs and the selection become one operation on the softmax.
// CHECK-LABEL: func.func @zero_nan(
// CHECK-SAME: %[[X:[^:]+]]:
// CHECK: %[[S:.+]] = "xyntra.softmax"(%[[X]])
// CHECK: %[[Y:.+]] = linalg.generic {{.+}} ins(%[[S]] : tensor<5x16xf32>)
// CHECK: %[[N:.+]] = arith.cmpf une, %[[V:.+]], %[[V]]
// CHECK: arith.select %[[N]], %{{.+}}, %[[V]]
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @zero_nan(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = "xyntra.softmax"(%x) {axis = 1 : i64} : (tensor<5x16xf32>) -> tensor<5x16xf32>
  %1 = tensor.empty() : tensor<5x16xi1>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<5x16xf32>) outs(%1 : tensor<5x16xi1>) {
  ^bb0(%in: f32, %out: i1):
    %5 = arith.cmpf une, %in, %in : f32
    linalg.yield %5 : i1
  } -> tensor<5x16xi1>
  %3 = tensor.empty() : tensor<5x16xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2, %0 : tensor<5x16xi1>, tensor<5x16xf32>) outs(%3 : tensor<5x16xf32>) {
  ^bb0(%in: i1, %in_0: f32, %out: f32):
    %5 = arith.select %in, %cst, %in_0 : f32
    linalg.yield %5 : f32
  } -> tensor<5x16xf32>
  return %4 : tensor<5x16xf32>
}

// The other way round: what equals itself is kept.
// CHECK-LABEL: func.func @zero_nan_kept(
// CHECK-COUNT-1: linalg.generic
// CHECK: arith.cmpf une
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @zero_nan_kept(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %1 = tensor.empty() : tensor<5x16xi1>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%1 : tensor<5x16xi1>) {
  ^bb0(%in: f32, %out: i1):
    %5 = arith.cmpf oeq, %in, %in : f32
    linalg.yield %5 : i1
  } -> tensor<5x16xi1>
  %3 = tensor.empty() : tensor<5x16xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2, %x : tensor<5x16xi1>, tensor<5x16xf32>) outs(%3 : tensor<5x16xf32>) {
  ^bb0(%in: i1, %in_0: f32, %out: f32):
    %5 = arith.select %in, %in_0, %cst : f32
    linalg.yield %5 : f32
  } -> tensor<5x16xf32>
  return %4 : tensor<5x16xf32>
}

// The transposed read becomes an operation of its own, which fusion folds again.
// CHECK-LABEL: func.func @silu_of_a_transposed_input(
// CHECK: %[[T:.+]] = linalg.generic
// CHECK: linalg.yield %{{.+}} : f32
// CHECK: %[[Y:.+]] = "xyntra.silu"(%[[T]])
// CHECK: return %[[Y]]
func.func @silu_of_a_transposed_input(%x: tensor<16x5xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<16x5xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.negf %in : f32
    %3 = math.exp %2 : f32
    %4 = arith.addf %3, %cst : f32
    %5 = arith.divf %in, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}
