// RUN: %xyntra-opt %s --flatten-control-flow | FileCheck %s

// CHECK-LABEL: func.func @nested
// CHECK-SAME: (%[[X:.+]]: tensor<4xf32>)
// CHECK-COUNT-3: arith.addf
// CHECK-NOT: arith.addf
// CHECK-NOT: scf
// CHECK: return
func.func @nested(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%t = %x) -> tensor<4xf32> {
    // As many as the outer loop has run before: 0, 1 and 2.
    %1 = scf.for %j = %c0 to %i step %c1 iter_args(%u = %t) -> tensor<4xf32> {
      %2 = arith.addf %u, %x : tensor<4xf32>
      scf.yield %2 : tensor<4xf32>
    }
    scf.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @none
// CHECK-NEXT: return %arg0
func.func @none(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c1 to %c0 step %c1 iter_args(%t = %x) -> tensor<4xf32> {
    %2 = arith.addf %t, %x : tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @branch
// CHECK: %[[A:.+]] = arith.addf
// CHECK: %[[B:.+]] = arith.mulf
// CHECK: arith.select %arg1, %[[A]], %[[B]] : tensor<4xf32>
func.func @branch(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %0 = scf.if %c -> tensor<4xf32> {
    %1 = arith.addf %x, %x : tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    %1 = arith.mulf %x, %x : tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @tiles
// CHECK: tensor.extract_slice %arg0[0] [2] [1]
// CHECK: tensor.insert_slice %{{.+}} into %arg1[0] [2] [1]
// CHECK: tensor.extract_slice %arg0[2] [2] [1]
// CHECK: tensor.insert_slice %{{.+}} into %{{.+}}[2] [2] [1]
// CHECK-NOT: scf
// CHECK: return
func.func @tiles(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32> {
  %0 = scf.forall (%i) = (0) to (4) step (2) shared_outs(%o = %out) -> tensor<4xf32> {
    %1 = tensor.extract_slice %x[%i] [2] [1] : tensor<4xf32> to tensor<2xf32>
    %2 = math.exp %1 : tensor<2xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %2 into %o[%i] [2] [1] : tensor<2xf32> into tensor<4xf32>
    }
  }
  return %0 : tensor<4xf32>
}
