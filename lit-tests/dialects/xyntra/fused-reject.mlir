// RUN: %xyntra-opt %s --split-input-file --verify-diagnostics

func.func @unknown_kind(%x: tensor<4xf32>) {
  // expected-error @below {{'xyntra.fused' op expects 'kind' to be one of elementwise, row, contraction, conv, attention, data, generic, got "reduction"}}
  %0 = "xyntra.fused"() ({
    "xyntra.yield"(%x) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  }) {kind = "reduction", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return
}

// -----

func.func @kind_missing(%x: tensor<4xf32>) {
  // expected-error @below {{attribute "kind" is expected but not provided}}
  %0 = "xyntra.fused"() ({
    "xyntra.yield"(%x) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  }) {resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return
}

// -----

func.func @segments_missing(%x: tensor<4xf32>) {
  // expected-error @below {{'resultSegmentSizes' attribute is expected but not provided}}
  %0 = "xyntra.fused"() ({
    "xyntra.yield"(%x) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  }) {kind = "row"} : () -> tensor<4xf32>
  return
}

// -----

func.func @two_types_in_one_segment(%x: tensor<4xf32>, %n: tensor<4xi1>) {
  // expected-error @below {{expected 'tensor<4xf32>' but got 'tensor<4xi1>'}}
  %0:2 = "xyntra.fused"() ({
    "xyntra.yield"(%x, %n) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>, tensor<4xi1>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 2, 0, 0, 0, 0, 0, 0, 0>} : () -> (tensor<4xf32>, tensor<4xi1>)
  return
}

// -----

func.func @yield_type(%x: tensor<4xf32>) {
  // expected-error @below {{'xyntra.fused' op yields (tensor<?xf32>) but its results are (tensor<4xf32>)}}
  %0 = "xyntra.fused"() ({
    %1 = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<?xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return
}

// -----

func.func @yield_count(%x: tensor<4xf32>) {
  // expected-error @below {{'xyntra.fused' op yields (tensor<4xf32>, tensor<4xf32>) but its results are (tensor<4xf32>)}}
  %0 = "xyntra.fused"() ({
    "xyntra.yield"(%x, %x) {operandSegmentSizes = array<i32: 2, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>, tensor<4xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return
}

// -----

func.func @no_terminator(%x: tensor<4xf32>) {
  %0 = "xyntra.fused"() ({
    // expected-error @below {{block with no terminator}}
    %1 = tensor.empty() : tensor<4xf32>
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return
}

// -----

func.func @empty_block(%x: tensor<4xf32>) {
  // expected-error @below {{empty block: expect at least a terminator}}
  %0 = "xyntra.fused"() ({
  ^bb0:
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return
}

// -----

func.func @another_terminator(%x: tensor<4xf32>) {
  // expected-error @below {{'xyntra.fused' op expects its block to end with 'xyntra.yield'}}
  %0 = "xyntra.fused"() ({
    "ub.unreachable"() : () -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return
}

// -----

func.func @no_block(%x: tensor<4xf32>) {
  // expected-error @below {{'xyntra.fused' op expects a region of one block, got 0}}
  %0 = "xyntra.fused"() ({
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return
}

// -----

func.func @two_blocks(%x: tensor<4xf32>) {
  // expected-error @below {{'xyntra.fused' op expects a region of one block, got 2}}
  %0 = "xyntra.fused"() ({
    "xyntra.yield"(%x) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  ^bb1:
    "xyntra.yield"(%x) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return
}

// -----

func.func @block_argument(%x: tensor<4xf32>) {
  // expected-error @below {{'xyntra.fused' op expects a block without arguments, got 1}}
  %0 = "xyntra.fused"() ({
  ^bb0(%y: tensor<4xf32>):
    "xyntra.yield"(%x) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return
}

// -----

func.func @scalar_result(%x: f32) {
  // expected-error @below {{'xyntra.fused' op expects ranked tensor results, got f32}}
  %0 = "xyntra.fused"() ({
    "xyntra.yield"(%x) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (f32) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> f32
  return
}

// -----

func.func @unranked_result(%x: tensor<*xf32>) {
  // expected-error @below {{'xyntra.fused' op expects ranked tensor results, got tensor<*xf32>}}
  %0 = "xyntra.fused"() ({
    "xyntra.yield"(%x) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<*xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<*xf32>
  return
}

// -----

func.func private @opaque(tensor<4xf32>)

func.func @call(%x: tensor<4xf32>) {
  // expected-error @below {{'xyntra.fused' op expects operations without side effects inside, but 'func.call' is not known to have none}}
  %0 = "xyntra.fused"() ({
    func.call @opaque(%x) : (tensor<4xf32>) -> ()
    "xyntra.yield"(%x) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return
}

// -----

func.func @store(%x: tensor<4xf32>, %m: memref<4xf32>) {
  // expected-error @below {{'xyntra.fused' op expects operations without side effects inside, but 'memref.store' is not known to have none}}
  %0 = "xyntra.fused"() ({
    %i = arith.constant 0 : index
    %v = arith.constant 1.0 : f32
    memref.store %v, %m[%i] : memref<4xf32>
    "xyntra.yield"(%x) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return
}

// -----

func.func @store_in_a_loop(%x: tensor<4xf32>, %m: memref<4xf32>) {
  // expected-error @below {{'xyntra.fused' op expects operations without side effects inside, but 'affine.store' accesses a memref}}
  %0 = "xyntra.fused"() ({
    %i = arith.constant 0 : index
    %n = arith.constant 4 : index
    %one = arith.constant 1 : index
    %v = arith.constant 1.0 : f32
    scf.for %j = %i to %n step %one {
      affine.store %v, %m[symbol(%i)] : memref<4xf32>
    }
    "xyntra.yield"(%x) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return
}

// -----

func.func @linalg_on_memref(%x: tensor<4xf32>, %m: memref<4xf32>) {
  // expected-error @below {{'xyntra.fused' op expects operations without side effects inside, but 'linalg.fill' accesses a memref}}
  %0 = "xyntra.fused"() ({
    %v = arith.constant 1.0 : f32
    linalg.fill ins(%v : f32) outs(%m : memref<4xf32>)
    "xyntra.yield"(%x) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return
}

// -----

func.func @nested(%x: tensor<4xf32>) {
  // expected-error @below {{'xyntra.fused' op expects operations without side effects inside, but 'xyntra.fused' is not known to have none}}
  %0 = "xyntra.fused"() ({
    %1 = "xyntra.fused"() ({
      "xyntra.yield"(%x) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
    }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
    "xyntra.yield"(%x) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<4xf32>
  return
}

// -----

func.func @yield_outside(%x: tensor<4xf32>) {
  // expected-error @below {{'xyntra.yield' op expects to be inside 'xyntra.fused' or 'xyntra.stage', not 'func.func'}}
  "xyntra.yield"(%x) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
}
