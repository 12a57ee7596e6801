// RUN: %xyntra-opt %s --check-fusion=max-buffers=5,max-operations=3,max-row-bytes=1024 --split-input-file --verify-diagnostics

#id = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>

// A reduction is no part of one loop nest over elements.
func.func @reduction_in_elementwise(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  // expected-error @below {{a kernel of kind 'elementwise' cannot hold what 'linalg.generic' does [kind-mismatch]}}
  %0 = "xyntra.fused"() ({
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    // expected-note @below {{'linalg.generic' reduces, or mixes the elements of a row}}
    %1 = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<4x8xf32>) outs(%init : tensor<4xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.addf %p, %o : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

// The second operation needs elements that the first has not computed yet.
func.func @transposed_read(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @below {{'linalg.generic' reads what 'linalg.generic' computes at other positions, so that they cannot share a loop nest [misaligned-read]}}
  %0 = "xyntra.fused"() ({
    %e = tensor.empty() : tensor<8x8xf32>
    // expected-note @below {{'linalg.generic' computes 8x8 elements}}
    %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = math.exp %p : f32
      linalg.yield %s : f32
    } -> tensor<8x8xf32>
    // expected-note @below {{'linalg.generic' computes 8x8 elements}}
    %2 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
        ins(%1 : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.negf %p : f32
      linalg.yield %s : f32
    } -> tensor<8x8xf32>
    "xyntra.yield"(%2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8x8xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

#line = affine_map<(d0) -> (d0)>
#shifted = affine_map<(d0) -> (d0 + 1)>

func.func @shifted_read(%x: tensor<9xf32>) -> (tensor<9xf32>, tensor<8xf32>) {
  // expected-error @below {{at other positions, so that they cannot share a loop nest [misaligned-read]}}
  %0:2 = "xyntra.fused"() ({
    %e = tensor.empty() : tensor<9xf32>
    %f = tensor.empty() : tensor<8xf32>
    // expected-note @below {{computes 9 elements}}
    %1 = linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]}
        ins(%x : tensor<9xf32>) outs(%e : tensor<9xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = math.exp %p : f32
      linalg.yield %s : f32
    } -> tensor<9xf32>
    // expected-note @below {{computes 8 elements}}
    %2 = linalg.generic {indexing_maps = [#shifted, #line], iterator_types = ["parallel"]}
        ins(%1 : tensor<9xf32>) outs(%f : tensor<8xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.negf %p : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    "xyntra.yield"(%1, %2) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<9xf32>, tensor<8xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : () -> (tensor<9xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<9xf32>, tensor<8xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#line = affine_map<(d0) -> (d0)>
#rows = affine_map<(d0, d1) -> (d0)>

// A value computed once a row is no value of each element: that takes a kernel of kind row.
func.func @broadcast_inside(%x: tensor<4x8xf32>, %y: tensor<4xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{[misaligned-read]}}
  %0 = "xyntra.fused"() ({
    %e = tensor.empty() : tensor<4x8xf32>
    %f = tensor.empty() : tensor<4xf32>
    // expected-note @below {{computes 4 elements}}
    %1 = linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]}
        ins(%y : tensor<4xf32>) outs(%f : tensor<4xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = math.exp %p : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    // expected-note @below {{computes 4x8 elements}}
    %2 = linalg.generic {indexing_maps = [#id, #rows, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x, %1 : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.mulf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<4x8xf32>
    "xyntra.yield"(%2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x8xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @several_spaces(%x: tensor<4xf32>, %y: tensor<6xf32>) -> (tensor<4xf32>, tensor<6xf32>) {
  // expected-error @below {{one loop nest cannot compute both 4 and 6 elements [several-spaces]}}
  %0:2 = "xyntra.fused"() ({
    // expected-note @below {{'xyntra.silu' computes 4 elements}}
    %1 = "xyntra.silu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    // expected-note @below {{'xyntra.silu' computes 6 elements}}
    %2 = "xyntra.silu"(%y) : (tensor<6xf32>) -> tensor<6xf32>
    "xyntra.yield"(%1, %2) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>, tensor<6xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : () -> (tensor<4xf32>, tensor<6xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<6xf32>
}

// -----

#line = affine_map<(d0) -> (d0)>

// A gather reads at positions that only running tells.
func.func @gather_inside(%x: tensor<8xf32>, %i: tensor<8xindex>) -> tensor<8xf32> {
  // expected-error @below {{a kernel reads and gives tensors of static shape; this one reads tensor<8xindex> [not-a-buffer]}}
  // expected-error @below {{[misaligned-read]}}
  %0 = "xyntra.fused"() ({
    // expected-note @below {{'xyntra.silu' computes 8 elements}}
    %1 = "xyntra.silu"(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %e = tensor.empty() : tensor<8xf32>
    // expected-note @below {{'linalg.generic' computes 8 elements}}
    %2 = linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]}
        ins(%i : tensor<8xindex>) outs(%e : tensor<8xf32>) {
    ^bb0(%p: index, %o: f32):
      %s = tensor.extract %1[%p] : tensor<8xf32>
      linalg.yield %s : f32
    } -> tensor<8xf32>
    "xyntra.yield"(%2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Softmax along columns needs the whole tensor that rows of softmax give one by one.
func.func @rows_and_columns(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-error @below {{'xyntra.softmax' and 'xyntra.softmax' compute no common number of rows [several-spaces]}}
  %0 = "xyntra.fused"() ({
    // expected-note @below {{'xyntra.softmax' computes 64x64 elements}}
    %1 = "xyntra.softmax"(%x) {axis = 1} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    // expected-note @below {{'xyntra.softmax' computes 64x64 elements}}
    %2 = "xyntra.softmax"(%1) {axis = 0} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    "xyntra.yield"(%2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<64x64xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

func.func @transposed_rows(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-error @below {{'linalg.generic' reads what 'xyntra.softmax' computes at other positions}}
  %0 = "xyntra.fused"() ({
    // expected-note @below {{'xyntra.softmax' computes}}
    %1 = "xyntra.softmax"(%x) {axis = 1} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %e = tensor.empty() : tensor<64x64xf32>
    // expected-note @below {{'linalg.generic' computes}}
    %2 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
        ins(%1 : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    } -> tensor<64x64xf32>
    "xyntra.yield"(%2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<64x64xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// -----

// Rows of 2 KiB are longer than the limit.
func.func @long_rows(%x: tensor<4x512xf32>) -> tensor<4x512xf32> {
  // expected-error @below {{a worker would have to keep a row of 2048 bytes, and the limit is 1024 [row-too-long]}}
  %0 = "xyntra.fused"() ({
    // expected-note @below {{'xyntra.silu' computes 4 rows of 2048 bytes}}
    %1 = "xyntra.silu"(%x) : (tensor<4x512xf32>) -> tensor<4x512xf32>
    // expected-note @below {{'xyntra.softmax' reads whole rows of it}}
    %2 = "xyntra.softmax"(%1) {axis = 1} : (tensor<4x512xf32>) -> tensor<4x512xf32>
    "xyntra.yield"(%2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4x512xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4x512xf32>
  return %0 : tensor<4x512xf32>
}

// -----

func.func @matmul_in_row(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %c: tensor<8x32xf32>) -> tensor<8x32xf32> {
  // expected-error @below {{a kernel of kind 'row' cannot hold what 'linalg.matmul' does [kind-mismatch]}}
  %0 = "xyntra.fused"() ({
    // expected-note @below {{'linalg.matmul' is a contraction}}
    %1 = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x32xf32>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
    %2 = "xyntra.softmax"(%1) {axis = 1} : (tensor<8x32xf32>) -> tensor<8x32xf32>
    "xyntra.yield"(%2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8x32xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// -----

func.func @two_contractions(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %c: tensor<8x16xf32>, %d: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error @below {{a kernel of kind 'contraction' holds one contraction, and this one 2 [several-anchors]}}
  %0 = "xyntra.fused"() ({
    // expected-note @below {{'linalg.matmul' is a contraction}}
    %1 = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
    // expected-note @below {{'linalg.matmul' is a contraction}}
    %2 = linalg.matmul ins(%1, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%d : tensor<8x16xf32>) -> tensor<8x16xf32>
    "xyntra.yield"(%2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8x16xf32>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

func.func @no_contraction(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{a kernel of kind 'contraction' holds no contraction [no-anchor]}}
  %0 = "xyntra.fused"() ({
    // expected-note @below {{'xyntra.silu' computes every element by itself}}
    %1 = "xyntra.silu"(%x) : (tensor<8xf32>) -> tensor<8xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8xf32>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @no_attention(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error @below {{a kernel of kind 'attention' cannot hold what 'linalg.matmul' does [kind-mismatch]}}
  %0 = "xyntra.fused"() ({
    // expected-note @below {{'linalg.matmul' is a contraction}}
    %1 = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8x16xf32>) -> ()
  }) {kind = "attention", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

// No tile of the product holds what the transposed epilogue needs.
func.func @transposed_epilogue(%x: tensor<32x16xf32>, %w: tensor<16x64xf32>, %c: tensor<32x64xf32>) -> tensor<64x32xf32> {
  // expected-error @below {{'linalg.generic' reads what 'linalg.matmul' computes at other positions}}
  %0 = "xyntra.fused"() ({
    // expected-note @below {{'linalg.matmul' computes 32x64 elements}}
    %1 = linalg.matmul ins(%x, %w : tensor<32x16xf32>, tensor<16x64xf32>) outs(%c : tensor<32x64xf32>) -> tensor<32x64xf32>
    %e = tensor.empty() : tensor<64x32xf32>
    // expected-note @below {{'linalg.generic' computes 64x32 elements}}
    %2 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
        ins(%1 : tensor<32x64xf32>) outs(%e : tensor<64x32xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = math.exp %p : f32
      linalg.yield %s : f32
    } -> tensor<64x32xf32>
    "xyntra.yield"(%2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<64x32xf32>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}

// -----

// A slice of rows is not where the row was computed.
func.func @sliced_epilogue(%x: tensor<32x16xf32>, %w: tensor<16x64xf32>, %c: tensor<32x64xf32>) -> tensor<16x64xf32> {
  // expected-error @below {{'xyntra.silu' reads what 'linalg.matmul' computes at other positions}}
  %0 = "xyntra.fused"() ({
    // expected-note @below {{'linalg.matmul' computes}}
    %1 = linalg.matmul ins(%x, %w : tensor<32x16xf32>, tensor<16x64xf32>) outs(%c : tensor<32x64xf32>) -> tensor<32x64xf32>
    %part = tensor.extract_slice %1[16, 0] [16, 64] [1, 1] : tensor<32x64xf32> to tensor<16x64xf32>
    // expected-note @below {{'xyntra.silu' computes}}
    %2 = "xyntra.silu"(%part) : (tensor<16x64xf32>) -> tensor<16x64xf32>
    "xyntra.yield"(%2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16x64xf32>) -> ()
  }) {kind = "contraction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16x64xf32>
  return %0 : tensor<16x64xf32>
}

// -----

func.func @computing_data(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{a kernel of kind 'data' cannot hold what 'xyntra.silu' does [kind-mismatch]}}
  %0 = "xyntra.fused"() ({
    // expected-note @below {{'xyntra.silu' computes every element by itself}}
    %1 = "xyntra.silu"(%x) : (tensor<8xf32>) -> tensor<8xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8xf32>) -> ()
  }) {kind = "data", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @placing_elementwise(%x: tensor<8xf32>) -> tensor<16xf32> {
  // expected-error @below {{a kernel of kind 'elementwise' cannot hold what 'tensor.concat' does [kind-mismatch]}}
  %0 = "xyntra.fused"() ({
    // expected-note @below {{'tensor.concat' places tensors in another}}
    %1 = tensor.concat dim(0) %x, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<16xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

// A result needs an operation that writes it.
func.func @unwritten(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // expected-error @below {{no operation of the kernel writes its result 1 [unwritten-result]}}
  %0:2 = "xyntra.fused"() ({
    %1 = "xyntra.silu"(%x) : (tensor<8xf32>) -> tensor<8xf32>
    "xyntra.yield"(%1, %x) {operandSegmentSizes = array<i32: 2, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8xf32>, tensor<8xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 2, 0, 0, 0, 0, 0, 0, 0>} : () -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}

// -----

func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @below {{this one reads tensor<?xf32> [not-a-buffer]}}
  // expected-error @below {{this one gives tensor<?xf32> [not-a-buffer]}}
  // expected-error @below {{[kind-mismatch]}}
  %0 = "xyntra.fused"() ({
    // expected-note @below {{'xyntra.silu'}}
    %1 = "xyntra.silu"(%x) : (tensor<?xf32>) -> tensor<?xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<?xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// The second part lies on top of the first, which another worker may write after it.
func.func @overlapping_parts(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> tensor<12x64xf32> {
  // expected-error @below {{'tensor.insert_slice' reads what 'tensor.insert_slice' computes at other positions}}
  %0 = "xyntra.fused"() ({
    %e = tensor.empty() : tensor<12x64xf32>
    %1 = "xyntra.softmax"(%x) {axis = 1} : (tensor<8x64xf32>) -> tensor<8x64xf32>
    // expected-note @below {{'tensor.insert_slice' computes 12x64 elements}}
    %2 = tensor.insert_slice %1 into %e[0, 0] [8, 64] [1, 1] : tensor<8x64xf32> into tensor<12x64xf32>
    // expected-note @below {{'tensor.insert_slice' computes 12x64 elements}}
    %3 = tensor.insert_slice %y into %2[4, 0] [8, 64] [1, 1] : tensor<8x64xf32> into tensor<12x64xf32>
    "xyntra.yield"(%3) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<12x64xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<12x64xf32>
  return %0 : tensor<12x64xf32>
}

// -----

// What is placed is read again, at other positions than it was computed at.
func.func @padded_rows(%x: tensor<8x64xf32>) -> tensor<10x64xf32> {
  // expected-error @below {{'tensor.pad' reads what 'xyntra.softmax' computes at other positions}}
  %0 = "xyntra.fused"() ({
    %zero = arith.constant 0.0 : f32
    // expected-note @below {{'xyntra.softmax' computes 8x64 elements}}
    %1 = "xyntra.softmax"(%x) {axis = 1} : (tensor<8x64xf32>) -> tensor<8x64xf32>
    // expected-note @below {{'tensor.pad' computes 10x64 elements}}
    %2 = tensor.pad %1 low[1, 0] high[1, 0] {
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : f32
    } : tensor<8x64xf32> to tensor<10x64xf32>
    %3 = "xyntra.softmax"(%2) {axis = 1} : (tensor<10x64xf32>) -> tensor<10x64xf32>
    "xyntra.yield"(%3) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<10x64xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<10x64xf32>
  return %0 : tensor<10x64xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

func.func @read_and_written(%x: tensor<8x8xf32>, %t: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // expected-error @below {{a tensor from outside of the kernel is read and also written [aliased-buffer]}}
  %0:2 = "xyntra.fused"() ({
    %e = tensor.empty() : tensor<8x8xf32>
    // expected-note @below {{'linalg.generic' writes into it}}
    %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<8x8xf32>) outs(%t : tensor<8x8xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.addf %p, %o : f32
      linalg.yield %s : f32
    } -> tensor<8x8xf32>
    // expected-note @below {{'linalg.generic' reads it}}
    %2 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
        ins(%t : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.negf %p : f32
      linalg.yield %s : f32
    } -> tensor<8x8xf32>
    "xyntra.yield"(%1, %2) {operandSegmentSizes = array<i32: 2, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 2, 0, 0, 0, 0, 0, 0, 0>} : () -> (tensor<8x8xf32>, tensor<8x8xf32>)
  return %0#0, %0#1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

func.func @buffers(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // expected-error @below {{a kernel that reads 3 tensors and writes 3 needs more than 5 buffers [too-many-buffers]}}
  %0:3 = "xyntra.fused"() ({
    %1 = "xyntra.silu"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "xyntra.silu"(%b) : (tensor<4xf32>) -> tensor<4xf32>
    %3 = "xyntra.silu"(%c) : (tensor<4xf32>) -> tensor<4xf32>
    "xyntra.yield"(%1, %2, %3) {operandSegmentSizes = array<i32: 3, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 3, 0, 0, 0, 0, 0, 0, 0>} : () -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @operations(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{a kernel holds at most 3 operations, and this one 4 [too-many-operations]}}
  %0 = "xyntra.fused"() ({
    %1 = "xyntra.silu"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "xyntra.silu"(%1) : (tensor<4xf32>) -> tensor<4xf32>
    %3 = "xyntra.silu"(%2) : (tensor<4xf32>) -> tensor<4xf32>
    %4 = "xyntra.silu"(%3) : (tensor<4xf32>) -> tensor<4xf32>
    "xyntra.yield"(%4) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Kernel functions are checked like regions; nothing else checks their side effects.
// expected-error @below {{a kernel has no side effects [side-effect]}}
func.func private @printing(%a: tensor<4xf32>) -> tensor<4xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "generic"}>} {
  // expected-note @below {{'func.call' is not known to have no side effects}}
  %0 = func.call @show(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @show(tensor<4xf32>) -> tensor<4xf32>

// -----

// expected-error @below {{this one reads f32 [not-a-buffer]}}
func.func private @scalar_argument(%a: tensor<4xf32>, %s: f32) -> tensor<4xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %0 = "xyntra.silu"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{a kernel of kind 'elementwise' cannot hold what 'xyntra.softmax' does [kind-mismatch]}}
func.func private @softmax_kernel(%a: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  // expected-note @below {{'xyntra.softmax' reduces, or mixes the elements of a row}}
  %0 = "xyntra.softmax"(%a) {axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// An element of the argument is overwritten before another one of the result needs it.
#id = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
// expected-error @below {{result 0 overwrites argument 0, which is still to be read [aliased-buffer]}}
func.func private @transposed_in_place(%a: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {xyntra.inplace = [[0, 0]], xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %e = tensor.empty() : tensor<8x8xf32>
  // expected-note @below {{'linalg.generic' reads it at other positions, or later}}
  %0 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.negf %p : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// Every tile of the product needs the argument again.
// expected-error @below {{result 0 overwrites argument 0, which is still to be read [aliased-buffer]}}
func.func private @operand_in_place(%a: tensor<8x8xf32>, %w: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {xyntra.inplace = [[0, 0]], xyntra.kernel = #xyntra.kernel<{kind = "contraction"}>} {
  // expected-note @below {{'xyntra.silu' reads it at other positions, or later}}
  %0 = "xyntra.silu"(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.matmul ins(%0, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

// expected-error @below {{'xyntra.inplace' does not pair results with arguments of their types [aliased-buffer]}}
func.func private @types_in_place(%a: tensor<4xi32>, %b: tensor<4xf32>) -> tensor<4xf32> attributes {xyntra.inplace = [[0, 0]], xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %0 = "xyntra.silu"(%b) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{'xyntra.inplace' names a result or an argument twice [aliased-buffer]}}
func.func private @twice_in_place(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {xyntra.inplace = [[0, 0], [1, 0]], xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %0 = "xyntra.silu"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "xyntra.silu"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func private @negate(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> attributes {xyntra.inplace = [[0, 0]], xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %0 = "xyntra.silu"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @calls(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-error @below {{the kernel overwrites operand 0, which belongs to the caller [aliased-buffer]}}
  %0 = call @negate(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{the kernel overwrites operand 0, which the call passes twice [aliased-buffer]}}
  %1 = call @negate(%0, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{the kernel overwrites operand 0, which is used afterwards [aliased-buffer]}}
  %2 = call @negate(%1, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Pooling reads windows, not rows.
func.func @pooling_in_row(%x: tensor<9xf32>, %c: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{a kernel of kind 'row' cannot hold what 'linalg.generic' does [kind-mismatch]}}
  %0 = "xyntra.fused"() ({
    %w = tensor.empty() : tensor<2xf32>
    // expected-note @below {{'linalg.generic' reduces sliding windows}}
    %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
        ins(%x, %w : tensor<9xf32>, tensor<2xf32>) outs(%c : tensor<8xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.maximumf %p, %o : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

#split = affine_map<(m, p, j) -> (m, p, j)>
#parts = affine_map<(m, p, j) -> (p, m)>
#id = affine_map<(p, m) -> (p, m)>

// The sums are of rows that are computed there, but stored part by part, which is the order in which they are read.
func.func @reads_parts_in_their_order(%x: tensor<256x2x32xf32>) -> tensor<2x256xf32> {
  // expected-error @below {{'linalg.generic' reads what 'linalg.generic' computes at other positions, so that they cannot share a loop nest [misaligned-read]}}
  %0 = "xyntra.fused"() ({
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<2x256xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<2x256xf32>) -> tensor<2x256xf32>
    %y = "xyntra.softmax"(%x) {axis = 2} : (tensor<256x2x32xf32>) -> tensor<256x2x32xf32>
    // expected-note @below {{'linalg.generic' computes 2x256 elements}}
    %1 = linalg.generic {indexing_maps = [#split, #parts], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%y : tensor<256x2x32xf32>) outs(%init : tensor<2x256xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.addf %p, %o : f32
      linalg.yield %s : f32
    } -> tensor<2x256xf32>
    %f = tensor.empty() : tensor<2x256xf32>
    // expected-note @below {{'linalg.generic' computes 2x256 elements}}
    %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%1 : tensor<2x256xf32>) outs(%f : tensor<2x256xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = math.exp %p : f32
      linalg.yield %s : f32
    } -> tensor<2x256xf32>
    "xyntra.yield"(%2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<2x256xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<2x256xf32>
  return %0 : tensor<2x256xf32>
}
