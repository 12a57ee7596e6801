// RUN: %xyntra-opt %s --bound-indices | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// Indices that are known to be in bounds get no guard.
// CHECK-LABEL: func.func @known
// CHECK-NOT: arith.minsi
// CHECK-NOT: arith.maxsi
// CHECK: return
func.func @known(%x: tensor<8xf32>, %n: tensor<4xi64>, %b: i1) -> tensor<4xf32> {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : i64
  %c0 = arith.constant 0 : i64
  %e = tensor.empty() : tensor<4xf32>
  %constants = arith.constant dense<[7, 0, 3, 3]> : tensor<4xi64>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%n, %constants : tensor<4xi64>, tensor<4xi64>) outs(%e : tensor<4xf32>) {
  ^bb0(%i: i64, %k: i64, %o: f32):
    %number = linalg.index 0 : index
    %double = arith.muli %number, %c2 : index
    %read0 = tensor.extract %x[%double] : tensor<8xf32>
    %inside = arith.cmpi ult, %i, %c8 : i64
    %safe = arith.select %inside, %i, %c0 : i64
    %at = arith.index_cast %safe : i64 to index
    %read1 = tensor.extract %x[%at] : tensor<8xf32>
    %from = arith.index_cast %k : i64 to index
    %read2 = tensor.extract %x[%from] : tensor<8xf32>
    %either = scf.if %b -> (index) {
      scf.yield %c2 : index
    } else {
      scf.yield %c3 : index
    }
    %read3 = tensor.extract %x[%either] : tensor<8xf32>
    %any = arith.index_cast %i : i64 to index
    %rest = arith.remui %any, %c3 : index
    %read4 = tensor.extract %x[%rest] : tensor<8xf32>
    %sum0 = arith.addf %read0, %read1 : f32
    %sum1 = arith.addf %read2, %read3 : f32
    %sum2 = arith.addf %sum0, %sum1 : f32
    %sum3 = arith.addf %sum2, %read4 : f32
    linalg.yield %sum3 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A comparison that says nothing of the index does not help, and sums may wrap around.
// CHECK-LABEL: func.func @unknown
// CHECK-COUNT-2: arith.maxsi
func.func @unknown(%x: tensor<8xf32>, %i: i64) -> (f32, f32) {
  %c8 = arith.constant 8 : i64
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %below = arith.cmpi slt, %i, %c8 : i64
  %low = arith.select %below, %i, %c0 : i64
  %at = arith.index_cast %low : i64 to index
  %0 = tensor.extract %x[%at] : tensor<8xf32>
  %positive = arith.maxsi %i, %c0 : i64
  %next = arith.addi %positive, %c1 : i64
  %after = arith.index_cast %next : i64 to index
  %1 = tensor.extract %x[%after] : tensor<8xf32>
  return %0, %1 : f32, f32
}
