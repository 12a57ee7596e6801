// RUN: %xyntra-opt %s --fold-norms | FileCheck %s --implicit-check-not=tensor.expand_shape

#id = affine_map<(m, n) -> (m, n)>
#column = affine_map<(m, n) -> (n)>
#rows = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#nk = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// The function returns the normalised tensor.
// CHECK-LABEL: func.func @returned(
// CHECK: xyntra.layer_norm
func.func @returned(%x0: tensor<16x64xf16>, %w0: tensor<64x64xf16> {xyntra.parameter = "w0"}, %g: tensor<64xf16> {xyntra.parameter = "g"}, %h: tensor<64xf16> {xyntra.parameter = "h"}, %w1: tensor<64x32xf16> {xyntra.parameter = "w1"}) -> (tensor<16x32xf16>, tensor<16x64xf16>) {
  %zero = arith.constant 0.0 : f32
  %0 = "xyntra.fused"() ({
    %p_e = tensor.empty() : tensor<16x64xf32>
    %p_i = linalg.fill ins(%zero : f32) outs(%p_e : tensor<16x64xf32>) -> tensor<16x64xf32>
    %p = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x0, %w0 : tensor<16x64xf16>, tensor<64x64xf16>) outs(%p_i : tensor<16x64xf32>) {
    ^bb0(%a: f16, %b: f16, %s: f32):
      %u = arith.extf %a : f16 to f32
      %v = arith.extf %b : f16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<16x64xf32>
    %x_e = tensor.empty() : tensor<16x64xf16>
    %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<16x64xf32>) outs(%x_e : tensor<16x64xf16>) {
    ^bb0(%a: f32, %b: f16):
      %t = arith.truncf %a : f32 to f16
      linalg.yield %t : f16
    } -> tensor<16x64xf16>
    %n = "xyntra.layer_norm"(%x, %g, %h) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<16x64xf16>, tensor<64xf16>, tensor<64xf16>) -> tensor<16x64xf16>
    "xyntra.yield"(%n) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x64xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x64xf16>
  %1 = "xyntra.fused"() ({
    %q_e = tensor.empty() : tensor<16x32xf32>
    %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<16x32xf32>) -> tensor<16x32xf32>
    %q = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%0, %w1 : tensor<16x64xf16>, tensor<64x32xf16>) outs(%q_i : tensor<16x32xf32>) {
    ^bb0(%a: f16, %b: f16, %s: f32):
      %u = arith.extf %a : f16 to f32
      %v = arith.extf %b : f16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<16x32xf32>
    %y_e = tensor.empty() : tensor<16x32xf16>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<16x32xf32>) outs(%y_e : tensor<16x32xf16>) {
    ^bb0(%a: f32, %b: f16):
      %t = arith.truncf %a : f32 to f16
      linalg.yield %t : f16
    } -> tensor<16x32xf16>
    "xyntra.yield"(%y) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x32xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x32xf16>
  return %1, %0 : tensor<16x32xf16>, tensor<16x64xf16>
}

// The weights are given with every call.
// CHECK-LABEL: func.func @weights_of_a_call(
// CHECK: xyntra.layer_norm
func.func @weights_of_a_call(%x0: tensor<16x64xf16>, %w0: tensor<64x64xf16> {xyntra.parameter = "w0"}, %g: tensor<64xf16> {xyntra.parameter = "g"}, %h: tensor<64xf16> {xyntra.parameter = "h"}, %w1: tensor<64x32xf16>) -> tensor<16x32xf16> {
  %zero = arith.constant 0.0 : f32
  %0 = "xyntra.fused"() ({
    %p_e = tensor.empty() : tensor<16x64xf32>
    %p_i = linalg.fill ins(%zero : f32) outs(%p_e : tensor<16x64xf32>) -> tensor<16x64xf32>
    %p = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x0, %w0 : tensor<16x64xf16>, tensor<64x64xf16>) outs(%p_i : tensor<16x64xf32>) {
    ^bb0(%a: f16, %b: f16, %s: f32):
      %u = arith.extf %a : f16 to f32
      %v = arith.extf %b : f16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<16x64xf32>
    %x_e = tensor.empty() : tensor<16x64xf16>
    %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<16x64xf32>) outs(%x_e : tensor<16x64xf16>) {
    ^bb0(%a: f32, %b: f16):
      %t = arith.truncf %a : f32 to f16
      linalg.yield %t : f16
    } -> tensor<16x64xf16>
    %n = "xyntra.layer_norm"(%x, %g, %h) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<16x64xf16>, tensor<64xf16>, tensor<64xf16>) -> tensor<16x64xf16>
    "xyntra.yield"(%n) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x64xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x64xf16>
  %1 = "xyntra.fused"() ({
    %q_e = tensor.empty() : tensor<16x32xf32>
    %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<16x32xf32>) -> tensor<16x32xf32>
    %q = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%0, %w1 : tensor<16x64xf16>, tensor<64x32xf16>) outs(%q_i : tensor<16x32xf32>) {
    ^bb0(%a: f16, %b: f16, %s: f32):
      %u = arith.extf %a : f16 to f32
      %v = arith.extf %b : f16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<16x32xf32>
    %y_e = tensor.empty() : tensor<16x32xf16>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<16x32xf32>) outs(%y_e : tensor<16x32xf16>) {
    ^bb0(%a: f32, %b: f16):
      %t = arith.truncf %a : f32 to f16
      linalg.yield %t : f16
    } -> tensor<16x32xf16>
    "xyntra.yield"(%y) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x32xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x32xf16>
  return %1 : tensor<16x32xf16>
}

// The scale is given with every call.
// CHECK-LABEL: func.func @scale_of_a_call(
// CHECK: xyntra.layer_norm
func.func @scale_of_a_call(%x0: tensor<16x64xf16>, %w0: tensor<64x64xf16> {xyntra.parameter = "w0"}, %g: tensor<64xf16>, %h: tensor<64xf16> {xyntra.parameter = "h"}, %w1: tensor<64x32xf16> {xyntra.parameter = "w1"}) -> tensor<16x32xf16> {
  %zero = arith.constant 0.0 : f32
  %0 = "xyntra.fused"() ({
    %p_e = tensor.empty() : tensor<16x64xf32>
    %p_i = linalg.fill ins(%zero : f32) outs(%p_e : tensor<16x64xf32>) -> tensor<16x64xf32>
    %p = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x0, %w0 : tensor<16x64xf16>, tensor<64x64xf16>) outs(%p_i : tensor<16x64xf32>) {
    ^bb0(%a: f16, %b: f16, %s: f32):
      %u = arith.extf %a : f16 to f32
      %v = arith.extf %b : f16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<16x64xf32>
    %x_e = tensor.empty() : tensor<16x64xf16>
    %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<16x64xf32>) outs(%x_e : tensor<16x64xf16>) {
    ^bb0(%a: f32, %b: f16):
      %t = arith.truncf %a : f32 to f16
      linalg.yield %t : f16
    } -> tensor<16x64xf16>
    %n = "xyntra.layer_norm"(%x, %g, %h) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<16x64xf16>, tensor<64xf16>, tensor<64xf16>) -> tensor<16x64xf16>
    "xyntra.yield"(%n) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x64xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x64xf16>
  %1 = "xyntra.fused"() ({
    %q_e = tensor.empty() : tensor<16x32xf32>
    %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<16x32xf32>) -> tensor<16x32xf32>
    %q = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%0, %w1 : tensor<16x64xf16>, tensor<64x32xf16>) outs(%q_i : tensor<16x32xf32>) {
    ^bb0(%a: f16, %b: f16, %s: f32):
      %u = arith.extf %a : f16 to f32
      %v = arith.extf %b : f16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<16x32xf32>
    %y_e = tensor.empty() : tensor<16x32xf16>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<16x32xf32>) outs(%y_e : tensor<16x32xf16>) {
    ^bb0(%a: f32, %b: f16):
      %t = arith.truncf %a : f32 to f16
      linalg.yield %t : f16
    } -> tensor<16x32xf16>
    "xyntra.yield"(%y) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x32xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x32xf16>
  return %1 : tensor<16x32xf16>
}

// An operation that is behind no product reads the normalised tensor.
// CHECK-LABEL: func.func @other_reader(
// CHECK: xyntra.layer_norm
func.func @other_reader(%x0: tensor<16x64xf16>, %w0: tensor<64x64xf16> {xyntra.parameter = "w0"}, %g: tensor<64xf16> {xyntra.parameter = "g"}, %h: tensor<64xf16> {xyntra.parameter = "h"}, %w1: tensor<64x32xf16> {xyntra.parameter = "w1"}) -> (tensor<16x32xf16>, tensor<16x64xf16>) {
  %zero = arith.constant 0.0 : f32
  %0 = "xyntra.fused"() ({
    %p_e = tensor.empty() : tensor<16x64xf32>
    %p_i = linalg.fill ins(%zero : f32) outs(%p_e : tensor<16x64xf32>) -> tensor<16x64xf32>
    %p = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x0, %w0 : tensor<16x64xf16>, tensor<64x64xf16>) outs(%p_i : tensor<16x64xf32>) {
    ^bb0(%a: f16, %b: f16, %s: f32):
      %u = arith.extf %a : f16 to f32
      %v = arith.extf %b : f16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<16x64xf32>
    %x_e = tensor.empty() : tensor<16x64xf16>
    %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<16x64xf32>) outs(%x_e : tensor<16x64xf16>) {
    ^bb0(%a: f32, %b: f16):
      %t = arith.truncf %a : f32 to f16
      linalg.yield %t : f16
    } -> tensor<16x64xf16>
    %n = "xyntra.layer_norm"(%x, %g, %h) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<16x64xf16>, tensor<64xf16>, tensor<64xf16>) -> tensor<16x64xf16>
    "xyntra.yield"(%n) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x64xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x64xf16>
  %1 = "xyntra.fused"() ({
    %q_e = tensor.empty() : tensor<16x32xf32>
    %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<16x32xf32>) -> tensor<16x32xf32>
    %q = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%0, %w1 : tensor<16x64xf16>, tensor<64x32xf16>) outs(%q_i : tensor<16x32xf32>) {
    ^bb0(%a: f16, %b: f16, %s: f32):
      %u = arith.extf %a : f16 to f32
      %v = arith.extf %b : f16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<16x32xf32>
    %y_e = tensor.empty() : tensor<16x32xf16>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<16x32xf32>) outs(%y_e : tensor<16x32xf16>) {
    ^bb0(%a: f32, %b: f16):
      %t = arith.truncf %a : f32 to f16
      linalg.yield %t : f16
    } -> tensor<16x32xf16>
    "xyntra.yield"(%y) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x32xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x32xf16>
  %2 = "xyntra.fused"() ({
    %z = "xyntra.silu"(%0) : (tensor<16x64xf16>) -> tensor<16x64xf16>
    "xyntra.yield"(%z) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x64xf16>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x64xf16>
  return %1, %2 : tensor<16x32xf16>, tensor<16x64xf16>
}

// A product reads one row.
// CHECK-LABEL: func.func @one_row(
// CHECK: xyntra.layer_norm
func.func @one_row(%x0: tensor<16x64xf16>, %w0: tensor<64x64xf16> {xyntra.parameter = "w0"}, %g: tensor<64xf16> {xyntra.parameter = "g"}, %h: tensor<64xf16> {xyntra.parameter = "h"}, %w1: tensor<64x32xf16> {xyntra.parameter = "w1"}) -> tensor<1x32xf16> {
  %zero = arith.constant 0.0 : f32
  %0 = "xyntra.fused"() ({
    %p_e = tensor.empty() : tensor<16x64xf32>
    %p_i = linalg.fill ins(%zero : f32) outs(%p_e : tensor<16x64xf32>) -> tensor<16x64xf32>
    %p = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x0, %w0 : tensor<16x64xf16>, tensor<64x64xf16>) outs(%p_i : tensor<16x64xf32>) {
    ^bb0(%a: f16, %b: f16, %s: f32):
      %u = arith.extf %a : f16 to f32
      %v = arith.extf %b : f16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<16x64xf32>
    %x_e = tensor.empty() : tensor<16x64xf16>
    %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<16x64xf32>) outs(%x_e : tensor<16x64xf16>) {
    ^bb0(%a: f32, %b: f16):
      %t = arith.truncf %a : f32 to f16
      linalg.yield %t : f16
    } -> tensor<16x64xf16>
    %n = "xyntra.layer_norm"(%x, %g, %h) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<16x64xf16>, tensor<64xf16>, tensor<64xf16>) -> tensor<16x64xf16>
    "xyntra.yield"(%n) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x64xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x64xf16>
  %1 = "xyntra.fused"() ({
    %part = tensor.extract_slice %0[0, 0] [1, 64] [1, 1] : tensor<16x64xf16> to tensor<1x64xf16>
    %q_e = tensor.empty() : tensor<1x32xf32>
    %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<1x32xf32>) -> tensor<1x32xf32>
    %q = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%part, %w1 : tensor<1x64xf16>, tensor<64x32xf16>) outs(%q_i : tensor<1x32xf32>) {
    ^bb0(%a: f16, %b: f16, %s: f32):
      %u = arith.extf %a : f16 to f32
      %v = arith.extf %b : f16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<1x32xf32>
    %y_e = tensor.empty() : tensor<1x32xf16>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<1x32xf32>) outs(%y_e : tensor<1x32xf16>) {
    ^bb0(%a: f32, %b: f16):
      %t = arith.truncf %a : f32 to f16
      linalg.yield %t : f16
    } -> tensor<1x32xf16>
    "xyntra.yield"(%y) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1x32xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<1x32xf16>
  return %1 : tensor<1x32xf16>
}

// No product makes what is normalised.
// CHECK-LABEL: func.func @no_product(
// CHECK: xyntra.layer_norm
func.func @no_product(%x0: tensor<16x64xf16>, %w0: tensor<64x64xf16> {xyntra.parameter = "w0"}, %g: tensor<64xf16> {xyntra.parameter = "g"}, %h: tensor<64xf16> {xyntra.parameter = "h"}, %w1: tensor<64x32xf16> {xyntra.parameter = "w1"}) -> tensor<16x32xf16> {
  %zero = arith.constant 0.0 : f32
  %0 = "xyntra.fused"() ({
    %n = "xyntra.layer_norm"(%x0, %g, %h) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<16x64xf16>, tensor<64xf16>, tensor<64xf16>) -> tensor<16x64xf16>
    "xyntra.yield"(%n) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x64xf16>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x64xf16>
  %1 = "xyntra.fused"() ({
    %q_e = tensor.empty() : tensor<16x32xf32>
    %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<16x32xf32>) -> tensor<16x32xf32>
    %q = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%0, %w1 : tensor<16x64xf16>, tensor<64x32xf16>) outs(%q_i : tensor<16x32xf32>) {
    ^bb0(%a: f16, %b: f16, %s: f32):
      %u = arith.extf %a : f16 to f32
      %v = arith.extf %b : f16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<16x32xf32>
    %y_e = tensor.empty() : tensor<16x32xf16>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<16x32xf32>) outs(%y_e : tensor<16x32xf16>) {
    ^bb0(%a: f32, %b: f16):
      %t = arith.truncf %a : f32 to f16
      linalg.yield %t : f16
    } -> tensor<16x32xf16>
    "xyntra.yield"(%y) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x32xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x32xf16>
  return %1 : tensor<16x32xf16>
}

// Rows of 40 columns have no whole parts.
// CHECK-LABEL: func.func @ragged(
// CHECK: xyntra.layer_norm
func.func @ragged(%x0: tensor<16x64xf16>, %w0: tensor<64x40xf16> {xyntra.parameter = "w0"}, %g: tensor<40xf16> {xyntra.parameter = "g"}, %h: tensor<40xf16> {xyntra.parameter = "h"}, %w1: tensor<40x32xf16> {xyntra.parameter = "w1"}) -> tensor<16x32xf16> {
  %zero = arith.constant 0.0 : f32
  %0 = "xyntra.fused"() ({
    %p_e = tensor.empty() : tensor<16x40xf32>
    %p_i = linalg.fill ins(%zero : f32) outs(%p_e : tensor<16x40xf32>) -> tensor<16x40xf32>
    %p = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x0, %w0 : tensor<16x64xf16>, tensor<64x40xf16>) outs(%p_i : tensor<16x40xf32>) {
    ^bb0(%a: f16, %b: f16, %s: f32):
      %u = arith.extf %a : f16 to f32
      %v = arith.extf %b : f16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<16x40xf32>
    %x_e = tensor.empty() : tensor<16x40xf16>
    %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<16x40xf32>) outs(%x_e : tensor<16x40xf16>) {
    ^bb0(%a: f32, %b: f16):
      %t = arith.truncf %a : f32 to f16
      linalg.yield %t : f16
    } -> tensor<16x40xf16>
    %n = "xyntra.layer_norm"(%x, %g, %h) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<16x40xf16>, tensor<40xf16>, tensor<40xf16>) -> tensor<16x40xf16>
    "xyntra.yield"(%n) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x40xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x40xf16>
  %1 = "xyntra.fused"() ({
    %q_e = tensor.empty() : tensor<16x32xf32>
    %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<16x32xf32>) -> tensor<16x32xf32>
    %q = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%0, %w1 : tensor<16x40xf16>, tensor<40x32xf16>) outs(%q_i : tensor<16x32xf32>) {
    ^bb0(%a: f16, %b: f16, %s: f32):
      %u = arith.extf %a : f16 to f32
      %v = arith.extf %b : f16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<16x32xf32>
    %y_e = tensor.empty() : tensor<16x32xf16>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<16x32xf32>) outs(%y_e : tensor<16x32xf16>) {
    ^bb0(%a: f32, %b: f16):
      %t = arith.truncf %a : f32 to f16
      linalg.yield %t : f16
    } -> tensor<16x32xf16>
    "xyntra.yield"(%y) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x32xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x32xf16>
  return %1 : tensor<16x32xf16>
}

// Arithmetic in front of the product reads the normalised tensor.
// CHECK-LABEL: func.func @in_front(
// CHECK: xyntra.layer_norm
func.func @in_front(%x0: tensor<16x64xf16>, %w0: tensor<64x64xf16> {xyntra.parameter = "w0"}, %g: tensor<64xf16> {xyntra.parameter = "g"}, %h: tensor<64xf16> {xyntra.parameter = "h"}, %w1: tensor<64x32xf16> {xyntra.parameter = "w1"}) -> tensor<16x32xf16> {
  %zero = arith.constant 0.0 : f32
  %0 = "xyntra.fused"() ({
    %p_e = tensor.empty() : tensor<16x64xf32>
    %p_i = linalg.fill ins(%zero : f32) outs(%p_e : tensor<16x64xf32>) -> tensor<16x64xf32>
    %p = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x0, %w0 : tensor<16x64xf16>, tensor<64x64xf16>) outs(%p_i : tensor<16x64xf32>) {
    ^bb0(%a: f16, %b: f16, %s: f32):
      %u = arith.extf %a : f16 to f32
      %v = arith.extf %b : f16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<16x64xf32>
    %x_e = tensor.empty() : tensor<16x64xf16>
    %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<16x64xf32>) outs(%x_e : tensor<16x64xf16>) {
    ^bb0(%a: f32, %b: f16):
      %t = arith.truncf %a : f32 to f16
      linalg.yield %t : f16
    } -> tensor<16x64xf16>
    %n = "xyntra.layer_norm"(%x, %g, %h) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<16x64xf16>, tensor<64xf16>, tensor<64xf16>) -> tensor<16x64xf16>
    "xyntra.yield"(%n) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x64xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x64xf16>
  %1 = "xyntra.fused"() ({
    %e = tensor.empty() : tensor<16x64xf16>
    %twice = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<16x64xf16>) outs(%e : tensor<16x64xf16>) {
    ^bb0(%a0: f16, %b0: f16):
      %t = arith.addf %a0, %a0 : f16
      linalg.yield %t : f16
    } -> tensor<16x64xf16>
    %q_e = tensor.empty() : tensor<16x32xf32>
    %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<16x32xf32>) -> tensor<16x32xf32>
    %q = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%twice, %w1 : tensor<16x64xf16>, tensor<64x32xf16>) outs(%q_i : tensor<16x32xf32>) {
    ^bb0(%a: f16, %b: f16, %s: f32):
      %u = arith.extf %a : f16 to f32
      %v = arith.extf %b : f16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<16x32xf32>
    %y_e = tensor.empty() : tensor<16x32xf16>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<16x32xf32>) outs(%y_e : tensor<16x32xf16>) {
    ^bb0(%a: f32, %b: f16):
      %t = arith.truncf %a : f32 to f16
      linalg.yield %t : f16
    } -> tensor<16x32xf16>
    "xyntra.yield"(%y) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x32xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x32xf16>
  return %1 : tensor<16x32xf16>
}

// Both factors of a product are the normalised tensor.
// CHECK-LABEL: func.func @squared(
// CHECK: xyntra.layer_norm
func.func @squared(%x0: tensor<16x64xf16>, %w0: tensor<64x64xf16> {xyntra.parameter = "w0"}, %g: tensor<64xf16> {xyntra.parameter = "g"}, %h: tensor<64xf16> {xyntra.parameter = "h"}, %w1: tensor<64x32xf16> {xyntra.parameter = "w1"}) -> tensor<16x16xf16> {
  %zero = arith.constant 0.0 : f32
  %0 = "xyntra.fused"() ({
    %p_e = tensor.empty() : tensor<16x64xf32>
    %p_i = linalg.fill ins(%zero : f32) outs(%p_e : tensor<16x64xf32>) -> tensor<16x64xf32>
    %p = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x0, %w0 : tensor<16x64xf16>, tensor<64x64xf16>) outs(%p_i : tensor<16x64xf32>) {
    ^bb0(%a: f16, %b: f16, %s: f32):
      %u = arith.extf %a : f16 to f32
      %v = arith.extf %b : f16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<16x64xf32>
    %x_e = tensor.empty() : tensor<16x64xf16>
    %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<16x64xf32>) outs(%x_e : tensor<16x64xf16>) {
    ^bb0(%a: f32, %b: f16):
      %t = arith.truncf %a : f32 to f16
      linalg.yield %t : f16
    } -> tensor<16x64xf16>
    %n = "xyntra.layer_norm"(%x, %g, %h) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<16x64xf16>, tensor<64xf16>, tensor<64xf16>) -> tensor<16x64xf16>
    "xyntra.yield"(%n) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x64xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x64xf16>
  %1 = "xyntra.fused"() ({
    %q_e = tensor.empty() : tensor<16x16xf32>
    %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<16x16xf32>) -> tensor<16x16xf32>
    %q = linalg.generic {indexing_maps = [#rows, #nk, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%0, %0 : tensor<16x64xf16>, tensor<16x64xf16>) outs(%q_i : tensor<16x16xf32>) {
    ^bb0(%a: f16, %b: f16, %s: f32):
      %u = arith.extf %a : f16 to f32
      %v = arith.extf %b : f16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<16x16xf32>
    %y_e = tensor.empty() : tensor<16x16xf16>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<16x16xf32>) outs(%y_e : tensor<16x16xf16>) {
    ^bb0(%a: f32, %b: f16):
      %t = arith.truncf %a : f32 to f16
      linalg.yield %t : f16
    } -> tensor<16x16xf16>
    "xyntra.yield"(%y) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x16xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x16xf16>
  return %1 : tensor<16x16xf16>
}
