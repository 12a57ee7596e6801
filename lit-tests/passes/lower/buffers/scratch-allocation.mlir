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

// -----

// A task has slots of its own, which lie in the memory of one thread, the kernel's last argument.
// CHECK-LABEL: func.func @with_task(
// CHECK-SAME: memref<64xi8>, [[MEMORY:%[a-z0-9]+]]: memref<128xi8>)
// CHECK-SAME: xyntra.private = 128 : i64, xyntra.scratch = array<i64: 64>
// CHECK-DAG: [[FIRST:%.+]] = memref.view [[MEMORY]][{{%.+}}][] : memref<128xi8> to memref<64xi8>
// CHECK-DAG: [[C64:%.+]] = arith.constant 64 : index
// CHECK-DAG: [[SECOND:%.+]] = memref.view [[MEMORY]][[[C64]]][] : memref<128xi8> to memref<64xi8>
// CHECK: call @with_task.parallel0({{.*}}, [[FIRST]], [[SECOND]]) : (index, index, memref<4xf32>, memref<64xi8>, memref<64xi8>) -> ()
// CHECK-LABEL: func.func private @with_task.parallel0(
// CHECK-SAME: memref<4xf32>, {{%[a-z0-9]+}}: memref<64xi8>, {{%[a-z0-9]+}}: memref<64xi8>)
// CHECK-SAME: xyntra.scratch = array<i64: 64, 64>
func.func @with_task(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %0 = memref.alloc() : memref<4xf32>
  memref.copy %x, %0 : memref<4xf32> to memref<4xf32>
  func.call @with_task.parallel0(%c0, %c9, %0) : (index, index, memref<4xf32>) -> ()
  return
}
func.func private @with_task.parallel0(%begin: index, %end: index, %x: memref<4xf32>) attributes {xyntra.task = 1 : i64, xyntra.readonly = array<i64>} {
  %0 = memref.alloc() : memref<8xf32>
  %1 = memref.alloc() : memref<4xf32>
  memref.copy %x, %1 : memref<4xf32> to memref<4xf32>
  %2 = memref.subview %0[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  memref.copy %1, %2 : memref<4xf32> to memref<4xf32, strided<[1]>>
  return
}
