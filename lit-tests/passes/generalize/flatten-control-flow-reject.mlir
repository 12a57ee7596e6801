// RUN: %xyntra-opt %s --flatten-control-flow --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @unknown
// CHECK: scf.for
func.func @unknown(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark@+1 {{'scf.for' has bounds that are no constants; it is left as it is}}
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> tensor<4xf32> {
    %1 = arith.addf %t, %x : tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @while
// CHECK: scf.while
func.func @while(%x: tensor<f32>) -> tensor<f32> {
  %one = arith.constant 1.0 : f32
  // expected-remark@+1 {{'scf.while' runs as often as data tells; it is left as it is}}
  %0 = scf.while (%t = %x) : (tensor<f32>) -> tensor<f32> {
    %v = tensor.extract %t[] : tensor<f32>
    %c = arith.cmpf ogt, %v, %one : f32
    scf.condition(%c) %t : tensor<f32>
  } do {
  ^bb0(%t: tensor<f32>):
    %1 = math.sqrt %t : tensor<f32>
    scf.yield %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @effects
// CHECK: scf.if
func.func @effects(%m: memref<4xf32>, %c: i1, %v: f32) {
  %i = arith.constant 0 : index
  // expected-remark@+1 {{'scf.if' has side effects; it is left as it is}}
  scf.if %c {
    memref.store %v, %m[%i] : memref<4xf32>
  }
  return
}

// -----

// expected-error@unknown {{loops and calls expand to more than 200,000 operations}}
func.func @large(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %many = arith.constant 200001 : index
  %0 = scf.for %i = %c0 to %many step %c1 iter_args(%t = %x) -> tensor<4xf32> {
    %1 = arith.addf %t, %x : tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
