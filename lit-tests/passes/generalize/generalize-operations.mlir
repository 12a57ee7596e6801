// RUN: %xyntra-opt %s --generalize-operations --canonicalize | FileCheck %s

// CHECK-DAG: #[[ID:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[SCALAR:.+]] = affine_map<(d0, d1) -> ()>
// CHECK-DAG: #[[SWAP:.+]] = affine_map<(d0, d1) -> (d1, d0)>

// Equal elements become a number of the body; results get destinations of their own.
// CHECK-LABEL: func.func @arith
// CHECK: %[[TWO:.+]] = arith.constant 2.0
// CHECK: linalg.generic {indexing_maps = [#[[ID]], #[[ID]]]
// CHECK-SAME: ins(%arg0 : tensor<3x5xf32>) outs(%{{[0-9]+}} :
// CHECK: arith.mulf %{{.+}}, %[[TWO]] fastmath<nnan>
// CHECK: arith.cmpf olt
// CHECK-SAME: f32
func.func @arith(%x: tensor<3x5xf32>) -> tensor<3x5xi1> {
  %two = arith.constant dense<2.0> : tensor<3x5xf32>
  %0 = arith.mulf %x, %two fastmath<nnan> : tensor<3x5xf32>
  %1 = arith.cmpf olt, %0, %x : tensor<3x5xf32>
  return %1 : tensor<3x5xi1>
}

// Scalars are held in tensors; positions that are known are slices.
// CHECK-LABEL: func.func @scalars
// CHECK-SAME: %[[S:.+]]: tensor<f32>) -> (tensor<3x5xf32>, tensor<f32>)
// CHECK: tensor.extract_slice %arg0[1, 2] [1, 1] [1, 1]
// CHECK: linalg.generic {{.*}} iterator_types = []
// CHECK: arith.addf
// CHECK: linalg.generic {indexing_maps = [#[[SCALAR]], #[[ID]]]
// CHECK-NOT: tensor.extract %
// CHECK: return
func.func @scalars(%x: tensor<3x5xf32>, %s: f32) -> (tensor<3x5xf32>, f32) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %0 = tensor.extract %x[%c1, %c2] : tensor<3x5xf32>
  %1 = arith.addf %0, %s : f32
  %e = tensor.empty() : tensor<3x5xf32>
  %2 = linalg.fill ins(%1 : f32) outs(%e : tensor<3x5xf32>) -> tensor<3x5xf32>
  return %2, %1 : tensor<3x5xf32>, f32
}

// Indices are stored as i64.
// CHECK-LABEL: func.func @indices
// CHECK: arith.index_cast %{{.+}} : index to i64
// CHECK: linalg.yield %{{.+}} : i64
// CHECK: ^bb0(%[[AT:.+]]: i64
// CHECK: %[[INDEX:.+]] = arith.index_cast %[[AT]] : i64 to index
// CHECK: linalg.index 0
func.func @indices(%x: tensor<9xf32>, %i: i32) -> tensor<4xf32> {
  %0 = arith.index_cast %i : i32 to index
  %1 = tensor.extract_slice %x[%0] [4] [1] : tensor<9xf32> to tensor<4xf32>
  return %1 : tensor<4xf32>
}

// What reduces keeps what it starts from, and what does not reads it instead.
// CHECK-LABEL: func.func @accumulators
// CHECK: ins(%arg0, %arg0 : tensor<5x5xf32>, tensor<5x5xf32>) outs(%arg1 :
// CHECK: ins(%{{.+}}, %arg1 : tensor<5x5xf32>, tensor<5x5xf32>) outs(%{{[0-9]+}} :
func.func @accumulators(%x: tensor<5x5xf32>, %c: tensor<5x5xf32>) -> tensor<5x5xf32> {
  %0 = linalg.matmul ins(%x, %x : tensor<5x5xf32>, tensor<5x5xf32>) outs(%c : tensor<5x5xf32>) -> tensor<5x5xf32>
  %1 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<5x5xf32>) outs(%c : tensor<5x5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.addf %a, %o : f32
    linalg.yield %m : f32
  } -> tensor<5x5xf32>
  return %1 : tensor<5x5xf32>
}

// Loops follow what is written, and the indices of a body with them.
// CHECK-LABEL: func.func @order
// CHECK: indexing_maps = [#[[SWAP]], #[[ID]]]
// CHECK: linalg.index 1
func.func @order(%x: tensor<5x3xf32>) -> tensor<3x5xf32> {
  %e = tensor.empty() : tensor<3x5xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x3xf32>) outs(%e : tensor<3x5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %f = arith.sitofp %j : i32 to f32
    %m = arith.addf %a, %f : f32
    linalg.yield %m : f32
  } -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// CHECK-LABEL: func.func @tensors
// CHECK: xyntra.softmax
// CHECK-SAME: axis = 1
// CHECK-NOT: tensor.generate
// CHECK: linalg.index 0
// CHECK-NOT: tensor.reshape
// CHECK: return
func.func @tensors(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<4xi32>, tensor<5x3xf32>) {
  %e = tensor.empty() : tensor<3x5xf32>
  %0 = linalg.softmax dimension(1) ins(%x : tensor<3x5xf32>) outs(%e : tensor<3x5xf32>) -> tensor<3x5xf32>
  %1 = tensor.generate {
  ^bb0(%i: index):
    %j = arith.index_cast %i : index to i32
    tensor.yield %j : i32
  } : tensor<4xi32>
  %shape = arith.constant dense<[5, 3]> : tensor<2xi32>
  %2 = tensor.reshape %x(%shape) : (tensor<3x5xf32>, tensor<2xi32>) -> tensor<5x3xf32>
  return %0, %1, %2 : tensor<3x5xf32>, tensor<4xi32>, tensor<5x3xf32>
}

// A generic of the usual form is not touched.
// CHECK-LABEL: func.func @good
// CHECK: %[[E:.+]] = tensor.empty()
// CHECK-NEXT: linalg.generic {{.*}} ins(%arg0 : tensor<3x5xf32>) outs(%[[E]] :
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @good(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %e = tensor.empty() : tensor<3x5xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x5xf32>) outs(%e : tensor<3x5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = math.exp %a : f32
    linalg.yield %m : f32
  } -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// A function that is called keeps its types; the scalar is read as it is.
// CHECK-LABEL: func.func private @callee
// CHECK-SAME: %[[S:.+]]: f32) -> f32
// CHECK: ins(%[[S]] : f32)
// CHECK: %[[R:.+]] = tensor.extract
// CHECK: return %[[R]] : f32
func.func private @callee(%s: f32) -> f32 {
  %0 = math.exp %s : f32
  return %0 : f32
}
func.func @caller(%s: f32) -> f32 {
  %0 = call @callee(%s) : (f32) -> f32
  return %0 : f32
}
