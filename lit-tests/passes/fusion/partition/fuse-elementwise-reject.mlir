// RUN: %xyntra-opt %s --fuse-elementwise --split-input-file --verify-diagnostics | FileCheck %s

// A dynamic shape: the operation stays and the pass says so; its neighbours are fused.
// CHECK-LABEL: func.func @dynamic
// CHECK: %[[E:.+]] = math.exp %arg0 : tensor<?xf32>
// CHECK: xyntra.fused
// CHECK: return %[[E]]
func.func @dynamic(%x: tensor<?xf32>, %y: tensor<64xf32>) -> (tensor<?xf32>, tensor<64xf32>) {
  // expected-remark@+1 {{'math.exp' has the dynamic shape tensor<?xf32>; it is left as it is}}
  %0 = math.exp %x : tensor<?xf32>
  %1 = math.exp %y : tensor<64xf32>
  return %0, %1 : tensor<?xf32>, tensor<64xf32>
}

// -----

// The same of a named operation, and of a tensor without a rank.
// CHECK-LABEL: func.func @dynamic_named
// CHECK-NOT: xyntra.fused
func.func @dynamic_named(%x: tensor<4x?xf32>, %u: tensor<*xf32>) -> (tensor<4x?xf32>, tensor<*xf32>) {
  // expected-remark@+1 {{'linalg.negf' has the dynamic shape tensor<4x?xf32>}}
  %0 = linalg.negf ins(%x : tensor<4x?xf32>) outs(%x : tensor<4x?xf32>) -> tensor<4x?xf32>
  // expected-remark@+1 {{'math.exp' has the dynamic shape tensor<*xf32>}}
  %1 = math.exp %u : tensor<*xf32>
  return %0, %1 : tensor<4x?xf32>, tensor<*xf32>
}

// -----

// Memory has an order that regions do not keep.
// CHECK-LABEL: func.func @effects
// CHECK: memref.store
// CHECK-NOT: xyntra.fused
func.func @effects(%x: tensor<64xf32>, %m: memref<64xf32>, %v: f32) -> tensor<64xf32> {
  %c = arith.constant 0 : index
  // expected-remark@+1 {{'memref.store' has side effects: its function is not fused}}
  memref.store %v, %m[%c] : memref<64xf32>
  %0 = math.exp %x : tensor<64xf32>
  %1 = math.tanh %0 : tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

// What a product lies between stays apart: one region would have to wait for itself.
// CHECK-LABEL: func.func @cycle
// CHECK: xyntra.fused
// CHECK: linalg.matmul
// CHECK: xyntra.fused
// CHECK: return
func.func @cycle(%x: tensor<16x16xf32>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = math.exp %x : tensor<16x16xf32>
  %1 = linalg.matmul ins(%0, %x : tensor<16x16xf32>, tensor<16x16xf32>) outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = arith.addf %0, %1 : tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>
#row = affine_map<(d0, d1) -> (d1)>

// Computed elements that are read at other positions, and a reduction: apart.
// CHECK-LABEL: func.func @permuted
// CHECK: %[[FIRST:.+]] = "xyntra.fused"() ({
// CHECK: math.exp
// CHECK: %[[SECOND:.+]] = "xyntra.fused"() ({
// CHECK: ins(%[[FIRST]]
// CHECK: linalg.reduce {{.*}} ins(%[[SECOND]]
func.func @permuted(%x: tensor<512x512xf32>, %z: tensor<512xf32>) -> tensor<512xf32> {
  %e = tensor.empty() : tensor<512x512xf32>
  %0 = math.exp %x : tensor<512x512xf32>
  %1 = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = math.tanh %a : f32
    linalg.yield %m : f32
  } -> tensor<512x512xf32>
  %2 = linalg.reduce { arith.addf } ins(%1 : tensor<512x512xf32>) outs(%z : tensor<512xf32>) dimensions = [1]
  return %2 : tensor<512xf32>
}

// -----

// Constants, views and moves compute nothing: no region.
// CHECK-LABEL: func.func @nothing
// CHECK-NOT: xyntra.fused
// CHECK: return
func.func @nothing(%x: tensor<8x32xf32>) -> (tensor<256xf32>, tensor<2xf32>, tensor<32x8xf32>) {
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %e = tensor.empty() : tensor<32x8xf32>
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<8x32xf32> into tensor<256xf32>
  %1 = linalg.transpose ins(%x : tensor<8x32xf32>) outs(%e : tensor<32x8xf32>) permutation = [1, 0]
  return %0, %c, %1 : tensor<256xf32>, tensor<2xf32>, tensor<32x8xf32>
}

// -----

// What is in a region or a kernel already stays as it is.
// CHECK-LABEL: func.func @formed
// CHECK-COUNT-1: xyntra.fused
// CHECK-NOT: xyntra.fused
// CHECK: return
func.func @formed(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "xyntra.fused"() ({
    %1 = math.exp %x : tensor<64xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<64xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// Loops and functions with branches are not looked into.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for
// CHECK-NOT: xyntra.fused
// CHECK: math.tanh
// CHECK: xyntra.fused
func.func @loop(%x: tensor<64xf32>, %n: index) -> tensor<64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark@+1 {{what is inside of 'scf.for' is not fused}}
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> tensor<64xf32> {
    %1 = math.tanh %t : tensor<64xf32>
    scf.yield %1 : tensor<64xf32>
  }
  %2 = math.exp %0 : tensor<64xf32>
  return %2 : tensor<64xf32>
}

// CHECK-LABEL: func.func @branches
// CHECK-NOT: xyntra.fused
// expected-remark@+1 {{function 'branches' has several blocks and is not fused}}
func.func @branches(%x: tensor<64xf32>, %c: i1) -> tensor<64xf32> {
  cf.cond_br %c, ^a, ^b
^a:
  %0 = math.tanh %x : tensor<64xf32>
  return %0 : tensor<64xf32>
^b:
  return %x : tensor<64xf32>
}
