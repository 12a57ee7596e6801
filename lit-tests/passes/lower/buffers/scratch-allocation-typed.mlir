// RUN: %xyntra-opt %s --scratch-allocation=typed=true | FileCheck %s

// A slot has elements of one type: what is of another gets a slot of its own.
// CHECK-LABEL: func.func @apart(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<20xf32>, [[WORDS:%[a-z0-9]+]]: memref<32xf32>, [[BYTES:%[a-z0-9]+]]: memref<64xi8>)
// CHECK-SAME: xyntra.scratch = array<i64: 128, 64>
// CHECK: memref.reinterpret_cast [[WORDS]] to offset: [0], sizes: [4, 5], strides: [5, 1] : memref<32xf32> to memref<4x5xf32>
// CHECK: memref.reinterpret_cast [[BYTES]] to offset: [0], sizes: [8], strides: [1] : memref<64xi8> to memref<8xi8>
// CHECK-NOT: memref.view
func.func @apart(%x: memref<20xf32>) {
  %0 = memref.alloc() : memref<4x5xf32>
  %f = memref.collapse_shape %0 [[0, 1]] : memref<4x5xf32> into memref<20xf32>
  memref.copy %x, %f : memref<20xf32> to memref<20xf32>
  %1 = memref.alloc() : memref<8xi8>
  %2 = arith.constant 0 : index
  %3 = arith.constant 1 : i8
  memref.store %3, %1[%2] : memref<8xi8>
  return
}
