// RUN: %xyntra-opt %s --recognize-patterns | FileCheck %s

// Each of these differs from a pattern in one thing, and is left alone.

// CHECK-LABEL: func.func @gelu_wrong_scale_under_erf(
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @gelu_wrong_scale_under_erf(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 1.000000e+00 : f32
  %cst_1 = arith.constant 1.414220e+00 : f32
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

// CHECK-LABEL: func.func @gelu_wrong_half(
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @gelu_wrong_half(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 5.000100e-01 : f32
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

// CHECK-LABEL: func.func @gelu_minus_one(
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @gelu_minus_one(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 1.000000e+00 : f32
  %cst_1 = arith.constant 1.41421354 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.divf %in, %cst_1 : f32
    %3 = math.erf %2 : f32
    %4 = arith.subf %3, %cst_0 : f32
    %5 = arith.mulf %in, %4 : f32
    %6 = arith.mulf %5, %cst : f32
    linalg.yield %6 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @gelu_of_two_inputs(
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @gelu_of_two_inputs(%x: tensor<5x16xf32>, %arg1: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 1.000000e+00 : f32
  %cst_1 = arith.constant 1.41421354 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %arg1 : tensor<5x16xf32>, tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %in_2: f32, %out: f32):
    %2 = arith.divf %in_2, %cst_1 : f32
    %3 = math.erf %2 : f32
    %4 = arith.addf %3, %cst_0 : f32
    %5 = arith.mulf %in, %4 : f32
    %6 = arith.mulf %5, %cst : f32
    linalg.yield %6 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @gelu_with_its_erf_used_twice(
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @gelu_with_its_erf_used_twice(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
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
    %7 = arith.addf %6, %3 : f32
    linalg.yield %7 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @gelu_of_a_row_added_to_a_matrix(
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @gelu_of_a_row_added_to_a_matrix(%x: tensor<16xf32>, %arg1: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 1.41421354 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %arg1 : tensor<16xf32>, tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %2 = arith.divf %in, %cst_0 : f32
    %3 = math.erf %2 : f32
    %4 = arith.addf %3, %in_1 : f32
    %5 = arith.mulf %in, %4 : f32
    %6 = arith.mulf %5, %cst : f32
    linalg.yield %6 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @gelu_by_a_logistic_function(
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @gelu_by_a_logistic_function(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %cst_0 = arith.constant 1.702000e+00 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.mulf %in, %cst_0 : f32
    %3 = arith.negf %2 : f32
    %4 = math.exp %3 : f32
    %5 = arith.addf %4, %cst : f32
    %6 = arith.divf %cst, %5 : f32
    %7 = arith.mulf %in, %6 : f32
    linalg.yield %7 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @gelu_in_sixteen_bits(
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @gelu_in_sixteen_bits(%x: tensor<5x16xf16>) -> tensor<5x16xf16> {
  %cst = arith.constant 5.000000e-01 : f16
  %cst_0 = arith.constant 1.000000e+00 : f16
  %cst_1 = arith.constant 1.414060e+00 : f16
  %0 = tensor.empty() : tensor<5x16xf16>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf16>) outs(%0 : tensor<5x16xf16>) {
  ^bb0(%in: f16, %out: f16):
    %2 = arith.divf %in, %cst_1 : f16
    %3 = math.erf %2 : f16
    %4 = arith.addf %3, %cst_0 : f16
    %5 = arith.mulf %in, %4 : f16
    %6 = arith.mulf %5, %cst : f16
    linalg.yield %6 : f16
  } -> tensor<5x16xf16>
  return %1 : tensor<5x16xf16>
}

// CHECK-LABEL: func.func @gelu_tanh_wrong_cubic_coefficient(
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @gelu_tanh_wrong_cubic_coefficient(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 1.000000e+00 : f32
  %cst_1 = arith.constant 0.797884583 : f32
  %cst_2 = arith.constant 4.470000e-02 : f32
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

// CHECK-LABEL: func.func @gelu_tanh_wrong_power(
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @gelu_tanh_wrong_power(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 1.000000e+00 : f32
  %cst_1 = arith.constant 0.797884583 : f32
  %cst_2 = arith.constant 4.471500e-02 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.mulf %in, %in : f32
    %3 = arith.mulf %2, %cst_2 : f32
    %4 = arith.addf %in, %3 : f32
    %5 = arith.mulf %4, %cst_1 : f32
    %6 = math.tanh %5 : f32
    %7 = arith.addf %6, %cst_0 : f32
    %8 = arith.mulf %in, %cst : f32
    %9 = arith.mulf %8, %7 : f32
    linalg.yield %9 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @gelu_tanh_rounded_scale(
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @gelu_tanh_rounded_scale(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 1.000000e+00 : f32
  %cst_1 = arith.constant 0.797879993 : f32
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

// CHECK-LABEL: func.func @silu_of_plus_x(
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @silu_of_plus_x(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = math.exp %in : f32
    %3 = arith.addf %2, %cst : f32
    %4 = arith.divf %in, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @silu_scaled_under_the_exponential(
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @silu_scaled_under_the_exponential(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %cst_0 = arith.constant -2.000000e+00 : f32
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

// CHECK-LABEL: func.func @silu_of_two_inputs(
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @silu_of_two_inputs(%x: tensor<5x16xf32>, %arg1: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %arg1 : tensor<5x16xf32>, tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %2 = arith.negf %in_0 : f32
    %3 = math.exp %2 : f32
    %4 = arith.addf %3, %cst : f32
    %5 = arith.divf %cst, %4 : f32
    %6 = arith.mulf %in, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @silu_with_a_shared_sigmoid(
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @silu_with_a_shared_sigmoid(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.negf %in : f32
    %3 = math.exp %2 : f32
    %4 = arith.addf %3, %cst : f32
    %5 = arith.divf %cst, %4 : f32
    %6 = arith.mulf %in, %5 : f32
    %7 = arith.addf %6, %5 : f32
    linalg.yield %7 : f32
  } -> tensor<5x16xf32>
  return %1 : tensor<5x16xf32>
}

// CHECK-LABEL: func.func @softmax_without_the_maximum(
// CHECK-COUNT-4: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @softmax_without_the_maximum(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<3x4x8xf32>) outs(%0 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %6 = math.exp %in : f32
    linalg.yield %6 : f32
  } -> tensor<3x4x8xf32>
  %2 = tensor.empty() : tensor<3x4x1xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%2 : tensor<3x4x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst : f32
  } -> tensor<3x4x1xf32>
  %expanded = tensor.expand_shape %1 [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%3 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %6 = arith.addf %out, %in : f32
    linalg.yield %6 : f32
  } -> tensor<3x4x1xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1, %4 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%0 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %6 = arith.divf %in, %in_0 : f32
    linalg.yield %6 : f32
  } -> tensor<3x4x8xf32>
  return %5 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @softmax_with_other_axes(
// CHECK-COUNT-6: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @softmax_with_other_axes(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<3x1x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%0 : tensor<3x1x8xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_0 : f32
  } -> tensor<3x1x8xf32>
  %expanded = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>], iterator_types = ["parallel", "reduction", "parallel", "parallel"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%1 : tensor<3x1x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %9 = arith.maximumf %out, %in : f32
    linalg.yield %9 : f32
  } -> tensor<3x1x8xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, 0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<3x1x8xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_2: f32, %out: f32):
    %9 = arith.subf %in, %in_2 : f32
    %10 = math.exp %9 : f32
    linalg.yield %10 : f32
  } -> tensor<3x4x8xf32>
  %5 = tensor.empty() : tensor<3x4x1xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%5 : tensor<3x4x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst : f32
  } -> tensor<3x4x1xf32>
  %expanded_1 = tensor.expand_shape %4 [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_1 : tensor<3x4x1x8xf32>) outs(%6 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %9 = arith.addf %out, %in : f32
    linalg.yield %9 : f32
  } -> tensor<3x4x1xf32>
  %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4, %7 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_2: f32, %out: f32):
    %9 = arith.divf %in, %in_2 : f32
    linalg.yield %9 : f32
  } -> tensor<3x4x8xf32>
  return %8 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @softmax_minus_the_minimum(
// CHECK-COUNT-6: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @softmax_minus_the_minimum(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0x7F800000 : f32
  %0 = tensor.empty() : tensor<3x4x1xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%0 : tensor<3x4x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_0 : f32
  } -> tensor<3x4x1xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%1 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = arith.minimumf %out, %in : f32
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

// CHECK-LABEL: func.func @softmax_along_two_axes(
// CHECK-COUNT-6: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @softmax_along_two_axes(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<3x1x1xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%0 : tensor<3x1x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_0 : f32
  } -> tensor<3x1x1xf32>
  %expanded = tensor.expand_shape %x [[0, 1, 2], [3], [4]] output_shape [3, 1, 1, 4, 8] : tensor<3x4x8xf32> into tensor<3x1x1x4x8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%expanded : tensor<3x1x1x4x8xf32>) outs(%1 : tensor<3x1x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = arith.maximumf %out, %in : f32
    linalg.yield %8 : f32
  } -> tensor<3x1x1xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, 0, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<3x1x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_2: f32, %out: f32):
    %8 = arith.subf %in, %in_2 : f32
    %9 = math.exp %8 : f32
    linalg.yield %9 : f32
  } -> tensor<3x4x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%0 : tensor<3x1x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst : f32
  } -> tensor<3x1x1xf32>
  %expanded_1 = tensor.expand_shape %4 [[0, 1, 2], [3], [4]] output_shape [3, 1, 1, 4, 8] : tensor<3x4x8xf32> into tensor<3x1x1x4x8xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%expanded_1 : tensor<3x1x1x4x8xf32>) outs(%5 : tensor<3x1x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = arith.addf %out, %in : f32
    linalg.yield %8 : f32
  } -> tensor<3x1x1xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, 0, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4, %6 : tensor<3x4x8xf32>, tensor<3x1x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_2: f32, %out: f32):
    %8 = arith.divf %in, %in_2 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x8xf32>
  return %7 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @softmax_with_its_exponential_used_twice(
// CHECK-COUNT-6: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @softmax_with_its_exponential_used_twice(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
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
    %9 = arith.addf %8, %in : f32
    linalg.yield %9 : f32
  } -> tensor<3x4x8xf32>
  return %7 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @softmax_with_the_mean(
// CHECK-COUNT-6: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @softmax_with_the_mean(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 8.000000e+00 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %cst_1 = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<3x4x1xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%0 : tensor<3x4x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_1 : f32
  } -> tensor<3x4x1xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%1 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = arith.maximumf %out, %in : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x1xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %8 = arith.subf %in, %in_3 : f32
    %9 = math.exp %8 : f32
    linalg.yield %9 : f32
  } -> tensor<3x4x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%0 : tensor<3x4x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_0 : f32
  } -> tensor<3x4x1xf32>
  %expanded_2 = tensor.expand_shape %4 [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_2 : tensor<3x4x1x8xf32>) outs(%5 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = arith.addf %out, %in : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x1xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4, %6 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %8 = arith.divf %in_3, %cst : f32
    %9 = arith.divf %in, %8 : f32
    linalg.yield %9 : f32
  } -> tensor<3x4x8xf32>
  return %7 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @log_softmax_without_the_maximum(
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @log_softmax_without_the_maximum(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4x8xf32>
  %1 = tensor.empty() : tensor<3x4x1xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%1 : tensor<3x4x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst : f32
  } -> tensor<3x4x1xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%2 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %5 = math.exp %in : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<3x4x1xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %3 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%0 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %5 = math.log %in_0 : f32
    %6 = arith.subf %in, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<3x4x8xf32>
  return %4 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @log_softmax_added(
// CHECK-COUNT-6: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @log_softmax_added(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
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
    %9 = arith.addf %in, %8 : f32
    linalg.yield %9 : f32
  } -> tensor<3x4x8xf32>
  return %7 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @layer_norm_with_the_unbiased_variance(
// CHECK-COUNT-5: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @layer_norm_with_the_unbiased_variance(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 9.99999974E-6 : f32
  %cst_0 = arith.constant 7.000000e+00 : f32
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
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4, %5 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %7 = arith.divf %in_5, %cst_0 : f32
    %8 = arith.addf %7, %cst : f32
    %9 = math.sqrt %8 : f32
    %10 = arith.divf %in, %9 : f32
    linalg.yield %10 : f32
  } -> tensor<3x4x8xf32>
  return %6 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @layer_norm_along_a_leading_axis(
// CHECK-COUNT-5: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @layer_norm_along_a_leading_axis(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 9.99999974E-6 : f32
  %cst_0 = arith.constant 3.000000e+00 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<4x8xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_1 : f32
  } -> tensor<4x8xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 1, 4, 8] : tensor<3x4x8xf32> into tensor<3x1x4x8xf32>
  %expanded_2 = tensor.expand_shape %1 [[0, 1], [2]] output_shape [1, 4, 8] : tensor<4x8xf32> into tensor<1x4x8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>], iterator_types = ["reduction", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<3x1x4x8xf32>) outs(%expanded_2 : tensor<1x4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.addf %out, %in : f32
    linalg.yield %7 : f32
  } -> tensor<1x4x8xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<1x4x8xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_4: f32, %out: f32):
    %7 = arith.divf %in_4, %cst_0 : f32
    %8 = arith.subf %in, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x8xf32>
  %expanded_3 = tensor.expand_shape %4 [[0], [1, 2], [3]] output_shape [3, 1, 4, 8] : tensor<3x4x8xf32> into tensor<3x1x4x8xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>], iterator_types = ["reduction", "parallel", "parallel", "parallel"]} ins(%expanded_3 : tensor<3x1x4x8xf32>) outs(%expanded_2 : tensor<1x4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.mulf %in, %in : f32
    %8 = arith.addf %out, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<1x4x8xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4, %5 : tensor<3x4x8xf32>, tensor<1x4x8xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_4: f32, %out: f32):
    %7 = arith.divf %in_4, %cst_0 : f32
    %8 = arith.addf %7, %cst : f32
    %9 = math.sqrt %8 : f32
    %10 = arith.divf %in, %9 : f32
    linalg.yield %10 : f32
  } -> tensor<3x4x8xf32>
  return %6 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @layer_norm_with_the_mean_of_another_axis(
// CHECK-COUNT-5: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @layer_norm_with_the_mean_of_another_axis(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 9.99999974E-6 : f32
  %cst_0 = arith.constant 8.000000e+00 : f32
  %cst_1 = arith.constant 4.000000e+00 : f32
  %cst_2 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x1x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%0 : tensor<3x1x8xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_2 : f32
  } -> tensor<3x1x8xf32>
  %expanded = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>], iterator_types = ["parallel", "reduction", "parallel", "parallel"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%1 : tensor<3x1x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %8 = arith.addf %out, %in : f32
    linalg.yield %8 : f32
  } -> tensor<3x1x8xf32>
  %3 = tensor.empty() : tensor<3x4x8xf32>
  %4 = tensor.empty() : tensor<3x4xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%4 : tensor<3x4xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_2 : f32
  } -> tensor<3x4xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, 0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %2 : tensor<3x4x8xf32>, tensor<3x1x8xf32>) outs(%5 : tensor<3x4xf32>) {
  ^bb0(%in: f32, %in_4: f32, %out: f32):
    %8 = arith.divf %in_4, %cst_1 : f32
    %9 = arith.subf %in, %8 : f32
    %10 = arith.mulf %9, %9 : f32
    %11 = arith.addf %out, %10 : f32
    linalg.yield %11 : f32
  } -> tensor<3x4xf32>
  %expanded_3 = tensor.expand_shape %6 [[0], [1, 2]] output_shape [3, 4, 1] : tensor<3x4xf32> into tensor<3x4x1xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %expanded_3 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%3 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_4: f32, %out: f32):
    %8 = arith.divf %in_4, %cst_0 : f32
    %9 = arith.addf %8, %cst : f32
    %10 = math.sqrt %9 : f32
    %11 = arith.divf %in, %10 : f32
    linalg.yield %11 : f32
  } -> tensor<3x4x8xf32>
  return %7 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @layer_norm_with_epsilon_after_the_root(
// CHECK-COUNT-5: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @layer_norm_with_epsilon_after_the_root(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
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
    %8 = math.sqrt %7 : f32
    %9 = arith.addf %8, %cst : f32
    %10 = arith.divf %in, %9 : f32
    linalg.yield %10 : f32
  } -> tensor<3x4x8xf32>
  return %6 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @layer_norm_with_the_variance_used_twice(
// CHECK-COUNT-5: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @layer_norm_with_the_variance_used_twice(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
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
    %11 = arith.addf %10, %7 : f32
    linalg.yield %11 : f32
  } -> tensor<3x4x8xf32>
  return %6 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @layer_norm_with_a_negative_epsilon(
// CHECK-COUNT-5: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @layer_norm_with_a_negative_epsilon(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant -9.99999974E-6 : f32
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

// CHECK-LABEL: func.func @layer_norm_with_the_absolute_deviation(
// CHECK-COUNT-5: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @layer_norm_with_the_absolute_deviation(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
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
    %7 = math.absf %in : f32
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

// CHECK-LABEL: func.func @rms_norm_of_another_input(
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @rms_norm_of_another_input(%x: tensor<3x4x8xf32>, %arg1: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
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
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1, %3 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%0 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_2: f32, %out: f32):
    %5 = arith.divf %in_2, %cst_0 : f32
    %6 = arith.addf %5, %cst : f32
    %7 = math.sqrt %6 : f32
    %8 = arith.divf %in, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x8xf32>
  return %4 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @rms_norm_with_the_sum(
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @rms_norm_with_the_sum(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  %cst = arith.constant 9.99999974E-6 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4x8xf32>
  %1 = tensor.empty() : tensor<3x4x1xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%1 : tensor<3x4x1xf32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_0 : f32
  } -> tensor<3x4x1xf32>
  %expanded = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 1, 8] : tensor<3x4x8xf32> into tensor<3x4x1x8xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<3x4x1x8xf32>) outs(%2 : tensor<3x4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %5 = arith.mulf %in, %in : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<3x4x1xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %3 : tensor<3x4x8xf32>, tensor<3x4x1xf32>) outs(%0 : tensor<3x4x8xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %5 = arith.addf %in_1, %cst : f32
    %6 = math.sqrt %5 : f32
    %7 = arith.divf %in, %6 : f32
    linalg.yield %7 : f32
  } -> tensor<3x4x8xf32>
  return %4 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @rms_norm_with_a_cube(
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @rms_norm_with_a_cube(%x: tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
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
    %6 = arith.mulf %5, %in : f32
    %7 = arith.addf %out, %6 : f32
    linalg.yield %7 : f32
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

// Another value in the place of NaN, another selection, and a mask that is used twice.
// CHECK-LABEL: func.func @zero_nan_by_one(
// CHECK-COUNT-4: linalg.generic
// CHECK: return
func.func @zero_nan_by_one(%x: tensor<5x16xf32>, %z: tensor<5x16xf32>) -> (tensor<5x16xf32>, tensor<5x16xf32>, tensor<5x16xf32>, tensor<5x16xi1>) {
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 1.000000e+00 : f32
  %1 = tensor.empty() : tensor<5x16xi1>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xf32>) outs(%1 : tensor<5x16xi1>) {
  ^bb0(%in: f32, %out: i1):
    %7 = arith.cmpf une, %in, %in : f32
    linalg.yield %7 : i1
  } -> tensor<5x16xi1>
  %3 = tensor.empty() : tensor<5x16xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2, %x : tensor<5x16xi1>, tensor<5x16xf32>) outs(%3 : tensor<5x16xf32>) {
  ^bb0(%in: i1, %in_1: f32, %out: f32):
    %7 = arith.select %in, %cst_0, %in_1 : f32
    linalg.yield %7 : f32
  } -> tensor<5x16xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2, %z : tensor<5x16xi1>, tensor<5x16xf32>) outs(%3 : tensor<5x16xf32>) {
  ^bb0(%in: i1, %in_1: f32, %out: f32):
    %7 = arith.select %in, %cst, %in_1 : f32
    linalg.yield %7 : f32
  } -> tensor<5x16xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2, %x : tensor<5x16xi1>, tensor<5x16xf32>) outs(%3 : tensor<5x16xf32>) {
  ^bb0(%in: i1, %in_1: f32, %out: f32):
    %7 = arith.select %in, %cst, %in_1 : f32
    linalg.yield %7 : f32
  } -> tensor<5x16xf32>
  return %4, %5, %6, %2 : tensor<5x16xf32>, tensor<5x16xf32>, tensor<5x16xf32>, tensor<5x16xi1>
}

// A mask that drops something, or everything.
// CHECK-LABEL: func.func @dropout_of_something(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @dropout_of_something(%x: tensor<5x16xf32>, %mask: tensor<5x16xi1>) -> (tensor<5x16xf32>, tensor<5x16xf32>) {
  %cst = arith.constant 0.000000e+00 : f32
  %none = arith.constant dense<false> : tensor<5x16xi1>
  %0 = tensor.empty() : tensor<5x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%mask, %x : tensor<5x16xi1>, tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: i1, %in_0: f32, %out: f32):
    %3 = arith.select %in, %in_0, %cst : f32
    linalg.yield %3 : f32
  } -> tensor<5x16xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%none, %x : tensor<5x16xi1>, tensor<5x16xf32>) outs(%0 : tensor<5x16xf32>) {
  ^bb0(%in: i1, %in_0: f32, %out: f32):
    %3 = arith.select %in, %in_0, %cst : f32
    linalg.yield %3 : f32
  } -> tensor<5x16xf32>
  return %1, %2 : tensor<5x16xf32>, tensor<5x16xf32>
}

// Operations on integers are other operations.
// CHECK-LABEL: func.func @integers(
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @integers(%x: tensor<5x16xi32>) -> tensor<5x16xi32> {
  %cst = arith.constant 1 : i32
  %0 = tensor.empty() : tensor<5x16xi32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x16xi32>) outs(%0 : tensor<5x16xi32>) {
  ^bb0(%in: i32, %out: i32):
    %2 = math.ipowi %in, %in : i32
    %3 = arith.addi %2, %cst : i32
    %4 = arith.divsi %in, %3 : i32
    linalg.yield %4 : i32
  } -> tensor<5x16xi32>
  return %1 : tensor<5x16xi32>
}

// A dynamic shape is not looked into.
// CHECK-LABEL: func.func @dynamic(
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: xyntra.
// CHECK: return
func.func @dynamic(%x: tensor<?x16xf32>, %0: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x16xf32>) outs(%0 : tensor<?x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.negf %in : f32
    %3 = math.exp %2 : f32
    %4 = arith.addf %3, %cst : f32
    %5 = arith.divf %in, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<?x16xf32>
  return %1 : tensor<?x16xf32>
}
