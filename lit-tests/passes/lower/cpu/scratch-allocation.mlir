// RUN: %xyntra-opt %s --scratch-allocation --split-input-file | FileCheck %s

// Allocations that live at different times share a slot; sizes are multiples of 64 bytes.
// CHECK-LABEL: func.func @one_after_the_other(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<20xf32>, [[SLOT:%[a-z0-9]+]]: memref<128xi8>)
// CHECK-SAME: xyntra.scratch = array<i64: 128>
// CHECK: [[FIRST:%.+]] = memref.view [[SLOT]][{{%.+}}][] : memref<128xi8> to memref<20xf32>
// CHECK: memref.copy [[X]], [[FIRST]]
// CHECK: [[SECOND:%.+]] = memref.view [[SLOT]][{{%.+}}][] : memref<128xi8> to memref<20xf32>
// CHECK: memref.copy [[X]], [[SECOND]]
func.func @one_after_the_other(%x: memref<20xf32>) {
  %0 = memref.alloc() : memref<20xf32>
  memref.copy %x, %0 : memref<20xf32> to memref<20xf32>
  memref.copy %0, %x : memref<20xf32> to memref<20xf32>
  %1 = memref.alloc() : memref<20xf32>
  memref.copy %x, %1 : memref<20xf32> to memref<20xf32>
  memref.copy %1, %x : memref<20xf32> to memref<20xf32>
  return
}

// -----

// One that is used later through a view still lives.
// CHECK-LABEL: func.func @at_once(
// CHECK-SAME: {{%[a-z0-9]+}}: memref<64xi8>, [[S:%[a-z0-9]+]]: memref<64xi8>, [[T:%[a-z0-9]+]]: memref<64xi8>)
// CHECK-SAME: xyntra.scratch = array<i64: 64, 64>
// CHECK-DAG: memref.view [[S]]
// CHECK-DAG: memref.view [[T]]
// CHECK: return
func.func @at_once(%x: memref<64xi8>) {
  %0 = memref.alloc() : memref<64xi8>
  %view = memref.expand_shape %0 [[0, 1]] output_shape [8, 8] : memref<64xi8> into memref<8x8xi8>
  memref.copy %x, %0 : memref<64xi8> to memref<64xi8>
  %1 = memref.alloc() : memref<8x8xi8>
  memref.copy %view, %1 : memref<8x8xi8> to memref<8x8xi8>
  return
}

// -----

// CHECK-LABEL: func.func @none(
// CHECK-SAME: {{%[a-z0-9]+}}: memref<4xf32>) attributes {xyntra.scratch = array<i64>}
func.func @none(%x: memref<4xf32>) {
  return
}
