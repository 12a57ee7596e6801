// RUN: %xyntra-opt %s --fold-norms | FileCheck %s
// RUN: %xyntra-opt %s --fold-norms --form-kernels --outline-kernels --check-fusion=target=cuda | FileCheck %s --check-prefix=KERNELS
// RUN: %xyntra-opt %s --fold-norms=max-rows=8 | FileCheck %s --check-prefix=MANY
// RUN: %xyntra-opt %s --fold-norms=max-weight-bytes=1000 | FileCheck %s --check-prefix=MANY
// RUN: %xyntra-opt %s --fold-norms=max-product-bytes=1000 | FileCheck %s --check-prefix=MANY

#id = affine_map<(m, n) -> (m, n)>
#column = affine_map<(m, n) -> (n)>
#rows = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#nk = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// MANY-NOT: tensor<2x16xf32>
// KERNELS-COUNT-7: attributes {xyntra.kernel = #xyntra.kernel<{kind = "contraction"}>}

// The first product gives x and statistics of its two parts; the weights are scaled, column by column, in a region of their
// own; the second one reads x, merges the statistics and normalises its sums.
// CHECK-LABEL: func.func @layer_norm(
// CHECK: %[[X:.+]]:3 = "xyntra.fused"()
// CHECK-NOT: xyntra.layer_norm
// CHECK: %[[SPLIT:.+]] = tensor.expand_shape %[[VALUE:.+]] {{\[\[}}0], [1, 2]] output_shape [16, 2, 32]
// CHECK: %[[S:.+]] = linalg.generic {{.+}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[SPLIT]] : {{.+}} outs(%{{.+}} : tensor<2x16xf32>)
// CHECK: %[[Q:.+]] = linalg.generic {{.+}} ins(%[[SPLIT]], %[[S]] : {{.+}} outs(%{{.+}} : tensor<2x16xf32>)
// CHECK: "xyntra.yield"(%[[VALUE]], %[[S]], %[[Q]])
// CHECK: %[[W:.+]]:4 = "xyntra.fused"()
// CHECK: ins(%arg4, %arg2 : tensor<64x32xf16>, tensor<64xf16>)
// CHECK: arith.maximumf
// CHECK: arith.bitcast
// CHECK: arith.truncf
// CHECK: ins(%arg4, %arg3 : tensor<64x32xf16>, tensor<64xf16>)
// CHECK: kind = "generic"
// CHECK: "xyntra.fused"()
// CHECK: %[[S:.+]]:2 = linalg.generic {{.+}} ins(%[[X]]#1, %[[X]]#2, %[[X]]#1 : tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>)
// CHECK: %[[MEAN:.+]] = linalg.generic {{.+}} ins(%[[S]]#0, %[[X]]#1 : tensor<16xf32>, tensor<2x16xf32>)
// CHECK: %[[FACTOR:.+]] = linalg.generic {{.+}} ins(%[[S]]#0, %[[S]]#1 :
// CHECK: math.rsqrt
// CHECK: %[[SUMS:.+]] = linalg.generic {{.+}} ins(%[[X]]#0, %[[W]]#0 : tensor<16x64xf16>, tensor<64x32xf16>)
// CHECK: %[[NORMED:.+]] = linalg.generic {{.+}} ins(%[[SUMS]], %[[MEAN]], %[[FACTOR]], %[[W]]#1, %[[W]]#2, %[[W]]#3 :
// CHECK: linalg.generic {{.+}} ins(%[[NORMED]] : tensor<16x32xf32>)
func.func @layer_norm(%x0: tensor<16x64xf16>, %w0: tensor<64x64xf16> {xyntra.parameter = "w0"}, %g: tensor<64xf16> {xyntra.parameter = "g"}, %h: tensor<64xf16> {xyntra.parameter = "h"}, %w1: tensor<64x32xf16> {xyntra.parameter = "w1"}) -> tensor<16x32xf16> {
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

// No mean and no bias: sums of squares alone, and no sums of columns. Weights of bf16 need no unit.
// CHECK-LABEL: func.func @rms_norm_of_bf16(
// CHECK: %[[X:.+]]:2 = "xyntra.fused"()
// CHECK-NOT: xyntra.rms_norm
// CHECK: %[[W:.+]] = "xyntra.fused"()
// CHECK-NOT: arith.bitcast
// CHECK: "xyntra.fused"()
// CHECK: ins(%[[X]]#1 : tensor<2x16xf32>)
// CHECK: %[[FACTOR:.+]] = linalg.generic
// CHECK: math.rsqrt
// CHECK: %[[SUMS:.+]] = linalg.generic {{.+}} ins(%[[X]]#0, %[[W]] : tensor<16x64xbf16>, tensor<64x32xbf16>)
// CHECK: linalg.generic {{.+}} ins(%[[SUMS]], %[[FACTOR]] :
func.func @rms_norm_of_bf16(%x0: tensor<16x64xbf16>, %w0: tensor<64x64xbf16> {xyntra.parameter = "w0"}, %g: tensor<64xbf16> {xyntra.parameter = "g"}, %h: tensor<64xbf16> {xyntra.parameter = "h"}, %w1: tensor<64x32xbf16> {xyntra.parameter = "w1"}) -> tensor<16x32xbf16> {
  %zero = arith.constant 0.0 : f32
  %0 = "xyntra.fused"() ({
    %p_e = tensor.empty() : tensor<16x64xf32>
    %p_i = linalg.fill ins(%zero : f32) outs(%p_e : tensor<16x64xf32>) -> tensor<16x64xf32>
    %p = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x0, %w0 : tensor<16x64xbf16>, tensor<64x64xbf16>) outs(%p_i : tensor<16x64xf32>) {
    ^bb0(%a: bf16, %b: bf16, %s: f32):
      %u = arith.extf %a : bf16 to f32
      %v = arith.extf %b : bf16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<16x64xf32>
    %x_e = tensor.empty() : tensor<16x64xbf16>
    %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<16x64xf32>) outs(%x_e : tensor<16x64xbf16>) {
    ^bb0(%a: f32, %b: bf16):
      %t = arith.truncf %a : f32 to bf16
      linalg.yield %t : bf16
    } -> tensor<16x64xbf16>
    %n = "xyntra.rms_norm"(%x, %g) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1>} : (tensor<16x64xbf16>, tensor<64xbf16>) -> tensor<16x64xbf16>
    "xyntra.yield"(%n) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x64xbf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x64xbf16>
  %1 = "xyntra.fused"() ({
    %q_e = tensor.empty() : tensor<16x32xf32>
    %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<16x32xf32>) -> tensor<16x32xf32>
    %q = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%0, %w1 : tensor<16x64xbf16>, tensor<64x32xbf16>) outs(%q_i : tensor<16x32xf32>) {
    ^bb0(%a: bf16, %b: bf16, %s: f32):
      %u = arith.extf %a : bf16 to f32
      %v = arith.extf %b : bf16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<16x32xf32>
    %y_e = tensor.empty() : tensor<16x32xbf16>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<16x32xf32>) outs(%y_e : tensor<16x32xbf16>) {
    ^bb0(%a: f32, %b: bf16):
      %t = arith.truncf %a : f32 to bf16
      linalg.yield %t : bf16
    } -> tensor<16x32xbf16>
    "xyntra.yield"(%y) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x32xbf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x32xbf16>
  return %1 : tensor<16x32xbf16>
}

// Weights stay as they are where the norm has no scale; their columns may be in rows.
// CHECK-LABEL: func.func @without_scale(
// CHECK: %[[X:.+]]:3 = "xyntra.fused"()
// CHECK: %[[W:.+]] = "xyntra.fused"()
// CHECK: iterator_types = ["parallel", "reduction"]
// CHECK: "xyntra.fused"()
// CHECK: %[[SUMS:.+]] = linalg.generic {{.+}} ins(%[[X]]#0, %arg4 : tensor<16x64xf16>, tensor<32x64xf16>)
// CHECK: linalg.generic {{.+}} ins(%[[SUMS]], %{{.+}}, %{{.+}}, %[[W]] :
func.func @without_scale(%x0: tensor<16x64xf16>, %w0: tensor<64x64xf16> {xyntra.parameter = "w0"}, %g: tensor<64xf16> {xyntra.parameter = "g"}, %h: tensor<64xf16> {xyntra.parameter = "h"}, %w1: tensor<32x64xf16> {xyntra.parameter = "w1"}) -> tensor<16x32xf16> {
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
    %n = "xyntra.layer_norm"(%x) {axis = 1 : i64, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x64xf16>) -> tensor<16x64xf16>
    "xyntra.yield"(%n) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x64xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x64xf16>
  %1 = "xyntra.fused"() ({
    %q_e = tensor.empty() : tensor<16x32xf32>
    %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<16x32xf32>) -> tensor<16x32xf32>
    %q = linalg.generic {indexing_maps = [#rows, #nk, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%0, %w1 : tensor<16x64xf16>, tensor<32x64xf16>) outs(%q_i : tensor<16x32xf32>) {
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

// What is normalised is read by itself, too. Behind the last product, an addition normalises what it reads, with means and
// factors that the product before it has merged.
// CHECK-LABEL: func.func @residual(
// CHECK: %[[X:.+]]:3 = "xyntra.fused"()
// CHECK: "xyntra.yield"(%[[VALUE:.+]], %{{.+}}, %{{.+}})
// CHECK: %[[Y:.+]]:3 = "xyntra.fused"()
// CHECK: "xyntra.yield"(%{{.+}}, %[[MEAN:.+]], %[[FACTOR:.+]])
// CHECK: "xyntra.fused"()
// CHECK-NOT: math.rsqrt
// CHECK: %[[SUMS:.+]] = linalg.generic {{.+}} ins(%{{.+}}, %arg5 :
// CHECK: %[[N:.+]] = linalg.generic {{.+}} ins(%[[X]]#0, %[[Y]]#1, %[[Y]]#2, %arg2, %arg3 : {{.+}} outs(%{{.+}} : tensor<16x64xf16>)
// CHECK: arith.truncf
// CHECK: linalg.generic {{.+}} ins(%[[SUMS]], %[[N]] :
// CHECK: return %{{.+}}, %[[X]]#0 :
func.func @residual(%x0: tensor<16x64xf16>, %w0: tensor<64x64xf16> {xyntra.parameter = "w0"}, %g: tensor<64xf16> {xyntra.parameter = "g"}, %h: tensor<64xf16> {xyntra.parameter = "h"}, %w1: tensor<64x32xf16> {xyntra.parameter = "w1"}, %w2: tensor<32x64xf16> {xyntra.parameter = "w2"}) -> (tensor<16x64xf16>, tensor<16x64xf16>) {
  %zero = arith.constant 0.0 : f32
  %0:2 = "xyntra.fused"() ({
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
    "xyntra.yield"(%x, %n) {operandSegmentSizes = array<i32: 2, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x64xf16>, tensor<16x64xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 2, 0, 0, 0, 0, 0, 0, 0>} : () -> (tensor<16x64xf16>, tensor<16x64xf16>)
  %1 = "xyntra.fused"() ({
    %q_e = tensor.empty() : tensor<16x32xf32>
    %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<16x32xf32>) -> tensor<16x32xf32>
    %q = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%0#1, %w1 : tensor<16x64xf16>, tensor<64x32xf16>) outs(%q_i : tensor<16x32xf32>) {
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
    %q_e = tensor.empty() : tensor<16x64xf32>
    %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<16x64xf32>) -> tensor<16x64xf32>
    %q = linalg.generic {indexing_maps = [#rows, #kn, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%1, %w2 : tensor<16x32xf16>, tensor<32x64xf16>) outs(%q_i : tensor<16x64xf32>) {
    ^bb0(%a: f16, %b: f16, %s: f32):
      %u = arith.extf %a : f16 to f32
      %v = arith.extf %b : f16 to f32
      %p = arith.mulf %u, %v : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<16x64xf32>
    %z_e = tensor.empty() : tensor<16x64xf16>
    %z = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%q, %0#1 : tensor<16x64xf32>, tensor<16x64xf16>) outs(%z_e : tensor<16x64xf16>) {
    ^bb0(%a: f32, %b: f16, %c: f16):
      %u = arith.extf %b : f16 to f32
      %s = arith.addf %a, %u : f32
      %t = arith.truncf %s : f32 to f16
      linalg.yield %t : f16
    } -> tensor<16x64xf16>
    "xyntra.yield"(%z) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x64xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x64xf16>
  return %2, %0#0 : tensor<16x64xf16>, tensor<16x64xf16>
}

// Slices of the product's columns are normalised one by one, each with vectors of its own.
// CHECK-LABEL: func.func @slices(
// CHECK: %[[W:.+]]:7 = "xyntra.fused"()
// CHECK: tensor.extract_slice %{{.+}}[0] [8] [1]
// CHECK: tensor.extract_slice %{{.+}}[8] [24] [1]
// CHECK: "xyntra.fused"()
// CHECK-DAG: %[[FIRST:.+]] = tensor.extract_slice %{{.+}}[0, 0] [16, 8] [1, 1]
// CHECK-DAG: %[[SECOND:.+]] = tensor.extract_slice %{{.+}}[0, 8] [16, 24] [1, 1]
// CHECK-DAG: linalg.generic {{.+}} ins(%[[FIRST]], %{{.+}}, %{{.+}}, %[[W]]#1, %[[W]]#3, %[[W]]#5 :
// CHECK-DAG: linalg.generic {{.+}} ins(%[[SECOND]], %{{.+}}, %{{.+}}, %[[W]]#2, %[[W]]#4, %[[W]]#6 :
func.func @slices(%x0: tensor<16x64xf16>, %w0: tensor<64x64xf16> {xyntra.parameter = "w0"}, %g: tensor<64xf16> {xyntra.parameter = "g"}, %h: tensor<64xf16> {xyntra.parameter = "h"}, %w1: tensor<64x32xf16> {xyntra.parameter = "w1"}) -> (tensor<16x8xf16>, tensor<16x24xf16>) {
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
  %1:2 = "xyntra.fused"() ({
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
    %left = tensor.extract_slice %q[0, 0] [16, 8] [1, 1] : tensor<16x32xf32> to tensor<16x8xf32>
    %right = tensor.extract_slice %q[0, 8] [16, 24] [1, 1] : tensor<16x32xf32> to tensor<16x24xf32>
    %y_e = tensor.empty() : tensor<16x8xf16>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%left : tensor<16x8xf32>) outs(%y_e : tensor<16x8xf16>) {
    ^bb0(%a: f32, %b: f16):
      %t = arith.truncf %a : f32 to f16
      linalg.yield %t : f16
    } -> tensor<16x8xf16>
    %z_e = tensor.empty() : tensor<16x24xf16>
    %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%right : tensor<16x24xf32>) outs(%z_e : tensor<16x24xf16>) {
    ^bb0(%a: f32, %b: f16):
      %t = arith.truncf %a : f32 to f16
      linalg.yield %t : f16
    } -> tensor<16x24xf16>
    "xyntra.yield"(%y, %z) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<16x8xf16>, tensor<16x24xf16>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : () -> (tensor<16x8xf16>, tensor<16x24xf16>)
  return %1#0, %1#1 : tensor<16x8xf16>, tensor<16x24xf16>
}
