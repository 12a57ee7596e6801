// RUN: %xyntra-opt %s --fuse-elementwise | FileCheck %s
// RUN: %xyntra-opt %s --fuse-elementwise --check-fusion --outline-kernels --check-fusion | FileCheck %s --check-prefix=KERNELS
// RUN: %xyntra-opt %s --fuse-elementwise=min-ops=3 | FileCheck %s --check-prefix=LARGE

#id = affine_map<(d0, d1) -> (d0, d1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>

// Arith, math, named operations, a map and a generic: one region, whoever writes them.
// CHECK-LABEL: func.func @spellings
// CHECK: %[[ALL:.+]] = "xyntra.fused"() ({
// CHECK-DAG: math.exp
// CHECK-DAG: arith.addf
// CHECK-DAG: arith.mulf
// CHECK-DAG: math.tanh
// CHECK-DAG: arith.maximumf
// CHECK: "xyntra.yield"
// CHECK: kind = "elementwise"
// CHECK: return %[[ALL]]
// KERNELS-LABEL: func.func @spellings
// KERNELS: call @elementwise_
// KERNELS-NEXT: return
func.func @spellings(%x: tensor<8x32xf32>, %y: tensor<8x32xf32>, %t: tensor<32x8xf32>) -> tensor<8x32xf32> {
  %two = arith.constant dense<2.0> : tensor<8x32xf32>
  %0 = math.exp %x : tensor<8x32xf32>
  %1 = linalg.add ins(%0, %y : tensor<8x32xf32>, tensor<8x32xf32>) outs(%y : tensor<8x32xf32>) -> tensor<8x32xf32>
  %2 = arith.mulf %1, %two : tensor<8x32xf32>
  %e = tensor.empty() : tensor<8x32xf32>
  %3 = linalg.map { math.tanh } ins(%2 : tensor<8x32xf32>) outs(%e : tensor<8x32xf32>)
  %4 = linalg.elementwise kind=#linalg.elementwise_kind<sub> ins(%3, %y : tensor<8x32xf32>, tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %5 = linalg.generic {indexing_maps = [#id, #swap, #id], iterator_types = ["parallel", "parallel"]}
      ins(%4, %t : tensor<8x32xf32>, tensor<32x8xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.maximumf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<8x32xf32>
  return %5 : tensor<8x32xf32>
}

// A vector broadcast along rows is read where it lies.
// CHECK-LABEL: func.func @broadcast
// CHECK: "xyntra.fused"() ({
// CHECK: ins(%arg1 : tensor<32xf32>)
// CHECK: arith.addf
// CHECK: kind = "elementwise"
// CHECK-NOT: xyntra.fused
// CHECK: return
func.func @broadcast(%x: tensor<8x32xf32>, %b: tensor<32xf32>) -> tensor<8x32xf32> {
  %e = tensor.empty() : tensor<8x32xf32>
  %0 = linalg.broadcast ins(%b : tensor<32xf32>) outs(%e : tensor<8x32xf32>) dimensions = [0]
  %1 = arith.addf %x, %0 : tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}

// Several users: the region gives both results.
// CHECK-LABEL: func.func @users
// CHECK: %[[BOTH:.+]]:2 = "xyntra.fused"() ({
// CHECK: kind = "elementwise"
// CHECK: return %[[BOTH]]#{{[01]}}, %[[BOTH]]#{{[01]}}
func.func @users(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = math.exp %x : tensor<64xf32>
  %1 = math.log1p %0 : tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}

// Operations of several results, and what reads each of them.
// CHECK-LABEL: func.func @results
// CHECK: "xyntra.fused"() ({
// CHECK: math.sincos
// CHECK: arith.mulf
// CHECK: kind = "elementwise"
// CHECK-NOT: xyntra.fused
func.func @results(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0, %1 = math.sincos %x : tensor<64xf32>
  %2 = arith.mulf %0, %1 : tensor<64xf32>
  return %2 : tensor<64xf32>
}

// What is written over is read, here by two: no operation of the region writes over it.
// CHECK-LABEL: func.func @aliased
// CHECK: "xyntra.fused"() ({
// CHECK-NOT: outs(%arg
// CHECK: kind = "elementwise"
// CHECK-NOT: xyntra.fused
// CHECK: return
func.func @aliased(%x: tensor<8x32xf32>, %y: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x32xf32>) outs(%y : tensor<8x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.addf %a, %o : f32
    linalg.yield %m : f32
  } -> tensor<8x32xf32>
  %1 = arith.mulf %0, %y : tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}

// A result of an operation that reduces is read from outside.
// CHECK-LABEL: func.func @around_a_product
// CHECK: %[[BEFORE:.+]] = "xyntra.fused"() ({
// CHECK: math.absf
// CHECK: kind = "elementwise"
// CHECK: %[[PRODUCT:.+]] = linalg.matmul ins(%[[BEFORE]]
// CHECK: "xyntra.fused"() ({
// CHECK: %[[PRODUCT]]
// CHECK: kind = "elementwise"
// One operation alone is left alone where three are wanted.
// LARGE-LABEL: func.func @around_a_product
// LARGE-NOT: xyntra.fused
// LARGE: math.absf
// LARGE: linalg.matmul
// LARGE: "xyntra.fused"
// LARGE-NOT: xyntra.fused
func.func @around_a_product(%x: tensor<16x16xf32>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = math.absf %x : tensor<16x16xf32>
  %1 = linalg.matmul ins(%0, %x : tensor<16x16xf32>, tensor<16x16xf32>) outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = arith.addf %1, %x : tensor<16x16xf32>
  %3 = math.tanh %2 : tensor<16x16xf32>
  %4 = arith.mulf %3, %1 : tensor<16x16xf32>
  return %4 : tensor<16x16xf32>
}

// A scalar is read from a tensor that holds it.
// CHECK-LABEL: func.func @scalar
// CHECK: %[[HELD:.+]] = tensor.from_elements %arg1 : tensor<f32>
// CHECK: "xyntra.fused"() ({
// CHECK: ins(%[[HELD]] : tensor<f32>)
// CHECK: kind = "elementwise"
func.func @scalar(%x: tensor<64xf32>, %s: f32) -> tensor<64xf32> {
  %e = tensor.empty() : tensor<64xf32>
  %0 = linalg.fill ins(%s : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %1 = arith.addf %x, %0 : tensor<64xf32>
  return %1 : tensor<64xf32>
}

// A view between two operations is cloned into the region.
// CHECK-LABEL: func.func @view
// CHECK: "xyntra.fused"() ({
// CHECK: math.exp
// CHECK: tensor.collapse_shape
// CHECK: math.tanh
// CHECK: kind = "elementwise"
// CHECK-NOT: xyntra.fused
// CHECK: return
func.func @view(%x: tensor<8x32xf32>) -> tensor<256xf32> {
  %0 = math.exp %x : tensor<8x32xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<8x32xf32> into tensor<256xf32>
  %2 = math.tanh %1 : tensor<256xf32>
  return %2 : tensor<256xf32>
}
