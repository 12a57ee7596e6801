// RUN: %xyntra-opt %s --find-top-k --split-input-file | FileCheck %s
// RUN: %xyntra-opt %s --find-top-k=device=sm_80 --split-input-file | FileCheck %s

// The loop says what it is for, so that it need not be understood: the largest element of each row and
// where it is. Two blocks share a row of 4096 elements: each keeps the best key of its part in memory,
// and then one block for each row finds the best of these and writes it.
// CHECK-LABEL: func.func @two_launches(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<4x4096xf32>, [[VALUES:%[a-z0-9]+]]: memref<4x1xf32>, [[PLACES:%[a-z0-9]+]]: memref<4x1xi64>)
// CHECK: [[KEYS:%.+]] = memref.alloc() : memref<8xi64>
// CHECK: memref.load [[X]]
// CHECK: memref.store {{%.+}}, [[KEYS]]
// CHECK: } {xyntra.block = 32 : i64, xyntra.parallel}
// CHECK-NOT: memref.store {{.+}}, [[VALUES]]
// CHECK: memref.load [[KEYS]]
// CHECK: memref.store {{%.+}}, [[PLACES]]
// CHECK: memref.store {{%.+}}, [[VALUES]]
// CHECK: } {xyntra.block = 32 : i64, xyntra.parallel}
// CHECK-NOT: xyntra.best
// CHECK: return
func.func @two_launches(%x: memref<4x4096xf32>, %values: memref<4x1xf32>, %places: memref<4x1xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %length = arith.constant 4096 : index
  %none = arith.constant 0xFF800000 : f32
  scf.for %i = %c0 to %rows step %c1 {
    %best, %at = scf.for %j = %c0 to %length step %c1 iter_args(%b = %none, %a = %c0) -> (f32, index) {
      %p = memref.load %x[%i, %j] : memref<4x4096xf32>
      %is = arith.cmpf ogt, %p, %b : f32
      %b1 = arith.select %is, %p, %b : f32
      %a1 = arith.select %is, %j, %a : index
      scf.yield %b1, %a1 : f32, index
    }
    %place = arith.index_cast %at : index to i64
    memref.store %best, %values[%i, %c0] : memref<4x1xf32>
    memref.store %place, %places[%i, %c0] : memref<4x1xi64>
  } {xyntra.best = {axis = 1 : i64, dtype = "float32", largest = true}, xyntra.parallel}
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>

// Short rows are sorted whole, one by a block, and a fill of the results has become useless.
// CHECK-LABEL: func.func @one_launch(
// CHECK-NOT: linalg.generic
// CHECK-NOT: memref.alloc() :
// CHECK: } {xyntra.block = {{[0-9]+}} : i64, xyntra.parallel}
// CHECK-NOT: xyntra.block
// CHECK: return
func.func @one_launch(%x: memref<4x60xf32>, %values: memref<4x1xf32>, %places: memref<4x1xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %length = arith.constant 60 : index
  %none = arith.constant 0xFF800000 : f32
  linalg.generic {indexing_maps = [#mn], iterator_types = ["parallel", "parallel"]} outs(%values : memref<4x1xf32>) {
  ^bb0(%o: f32):
    linalg.yield %none : f32
  }
  scf.for %i = %c0 to %rows step %c1 {
    %best, %at = scf.for %j = %c0 to %length step %c1 iter_args(%b = %none, %a = %c0) -> (f32, index) {
      %p = memref.load %x[%i, %j] : memref<4x60xf32>
      %is = arith.cmpf ogt, %p, %b : f32
      %b1 = arith.select %is, %p, %b : f32
      %a1 = arith.select %is, %j, %a : index
      scf.yield %b1, %a1 : f32, index
    }
    %place = arith.index_cast %at : index to i64
    memref.store %best, %values[%i, %c0] : memref<4x1xf32>
    memref.store %place, %places[%i, %c0] : memref<4x1xi64>
  } {xyntra.best = {axis = 1 : i64, dtype = "float32", largest = true}, xyntra.parallel}
  return
}
