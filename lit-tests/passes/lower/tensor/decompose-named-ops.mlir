// RUN: %xyntra-opt %s --decompose-named-ops | FileCheck %s
// RUN: %xyntra-opt %s --decompose-named-ops=keep=attention | FileCheck %s --check-prefix=KEPT --implicit-check-not=xyntra.softmax

// f32 is computed in f32, in three sweeps over the rows.
// CHECK-LABEL: func.func @softmax(
// CHECK-SAME: %[[X:.+]]: tensor<2x3xf32>)
func.func @softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK: %[[MAX:.+]] = linalg.generic {{.+}} iterator_types = ["parallel", "reduction"]{{.+}} ins(%[[X]] :
  // CHECK: arith.maximumf
  // CHECK: %[[EXP:.+]] = linalg.generic {{.+}} iterator_types = ["parallel", "parallel"]{{.+}} ins(%[[X]], %[[MAX]] : tensor<2x3xf32>, tensor<2xf32>)
  // CHECK: arith.subf
  // CHECK: math.exp
  // CHECK: %[[SUM:.+]] = linalg.generic {{.+}} iterator_types = ["parallel", "reduction"]{{.+}} ins(%[[EXP]] :
  // CHECK: arith.addf
  // CHECK: %[[Y:.+]] = linalg.generic {{.+}} ins(%[[EXP]], %[[SUM]] : tensor<2x3xf32>, tensor<2xf32>)
  // CHECK: arith.divf
  // CHECK: return %[[Y]]
  %0 = "xyntra.softmax"(%x) {axis = 1} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// f16 is computed in f32 and rounded once.
// CHECK-LABEL: func.func @log_softmax
func.func @log_softmax(%x: tensor<2x3xf16>) -> tensor<2x3xf16> {
  // CHECK: arith.extf
  // CHECK: arith.maximumf {{.+}} : f32
  // CHECK: math.exp {{.+}} : f32
  // CHECK: math.log {{.+}} : f32
  // CHECK-NEXT: arith.subf {{.+}} : f32
  // CHECK-NEXT: arith.truncf {{.+}} : f32 to f16
  // CHECK-NOT: arith.truncf
  // CHECK: return
  %0 = "xyntra.log_softmax"(%x) {axis = 0} : (tensor<2x3xf16>) -> tensor<2x3xf16>
  return %0 : tensor<2x3xf16>
}

// The variance is that of the centred values.
// CHECK-LABEL: func.func @layer_norm(
// CHECK-SAME: %[[X:.+]]: tensor<2x3x4xf64>, %[[SCALE:.+]]: tensor<3x4xf64>, %[[BIAS:.+]]: tensor<1xf64>)
func.func @layer_norm(%x: tensor<2x3x4xf64>, %scale: tensor<3x4xf64>, %bias: tensor<1xf64>) -> tensor<2x3x4xf64> {
  // CHECK: %[[TOTAL:.+]] = linalg.generic {{.+}} iterator_types = ["parallel", "reduction", "reduction"]{{.+}} ins(%[[X]] :
  // CHECK: %[[CENTRED:.+]] = linalg.generic {{.+}} ins(%[[X]], %[[TOTAL]] :
  // CHECK: %[[SQUARES:.+]] = linalg.generic {{.+}} ins(%[[CENTRED]] :
  // CHECK: linalg.generic {{.+}} ins(%[[CENTRED]], %[[SQUARES]], %[[SCALE]], %[[BIAS]] :
  // CHECK: math.sqrt
  // CHECK: arith.mulf
  // CHECK: arith.addf
  %0 = "xyntra.layer_norm"(%x, %scale, %bias) {axis = 1, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}
      : (tensor<2x3x4xf64>, tensor<3x4xf64>, tensor<1xf64>) -> tensor<2x3x4xf64>
  return %0 : tensor<2x3x4xf64>
}

// CHECK-LABEL: func.func @rms_norm
func.func @rms_norm(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK: arith.mulf
  // CHECK: [[D:%.+]] = math.sqrt
  // CHECK: [[R:%.+]] = arith.divf {{%.+}}, [[D]]
  // CHECK: arith.mulf {{%.+}}, [[R]]
  // CHECK-NEXT: linalg.yield
  %0 = "xyntra.rms_norm"(%x) {axis = 1, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// Ops inside a fused region are rewritten in place.
// CHECK-LABEL: func.func @activations
func.func @activations(%x: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK: "xyntra.fused"
  // CHECK: math.erf
  // CHECK: arith.constant 0.797884583 : f32
  // CHECK: math.tanh
  // CHECK: arith.negf
  // CHECK: math.exp
  // CHECK: "xyntra.yield"
  %0 = "xyntra.fused"() ({
    %1 = "xyntra.gelu"(%x) {approximate = "none"} : (tensor<3xf32>) -> tensor<3xf32>
    %2 = "xyntra.gelu"(%1) {approximate = "tanh"} : (tensor<3xf32>) -> tensor<3xf32>
    %3 = "xyntra.silu"(%2) : (tensor<3xf32>) -> tensor<3xf32>
    "xyntra.yield"(%3) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<3xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// Attention: read into [b, h, s, d], two contractions around a softmax, written as the maps say.
// KEPT: "xyntra.attention"
// CHECK-LABEL: func.func @attention(
// CHECK-SAME: %[[X:.+]]: tensor<3x12xf32>, %[[KEEP:.+]]: tensor<3xi1>)
func.func @attention(%x: tensor<3x12xf32>, %keep: tensor<3xi1>) -> tensor<3x4xf32> {
  // CHECK-COUNT-2: linalg.generic {{.+}} ins(%[[X]] : tensor<3x12xf32>) outs({{.+}} : tensor<1x2x3x2xf32>)
  // CHECK: linalg.generic {{.+}} iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]
  // CHECK: %[[SEEN:.+]] = linalg.generic {{.+}} ins(%[[KEEP]] : tensor<3xi1>)
  // CHECK: linalg.generic {{.+}} ins(%{{.+}}, %[[SEEN]] :
  // CHECK: arith.select {{.+}} : f32
  // CHECK: linalg.index 2
  // CHECK: linalg.index 3
  // CHECK: arith.cmpi sle
  // CHECK: math.exp
  // CHECK: arith.cmpf une
  // CHECK: linalg.generic {{.+}} iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]
  // CHECK-NOT: xyntra.attention
  // CHECK: tensor.collapse_shape
  // CHECK: return {{.+}} : tensor<3x4xf32>
  %0 = "xyntra.attention"(%x, %x, %x, %keep) {
    scale = 0.5 : f32, causal = true, masked_rows = "zero", sizes = array<i64: 1, 2, 3, 3, 2, 2>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (s, h * 2 + d)>, affine_map<(b, h, s, t, d, e) -> (t, h * 2 + d + 4)>,
      affine_map<(b, h, s, t, d, e) -> (t, h * 2 + e + 8)>, affine_map<(b, h, s, t, d, e) -> (t)>,
      affine_map<(b, h, s, t, d, e) -> (s, h * 2 + e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>}
    : (tensor<3x12xf32>, tensor<3x12xf32>, tensor<3x12xf32>, tensor<3xi1>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
