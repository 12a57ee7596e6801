// RUN: %xyntra-opt %s --generalize-copies --split-input-file | FileCheck %s

// A copy is a loop that yields what it reads.
// CHECK-LABEL: func.func @whole(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<8x64xf32>, [[Y:%[a-z0-9]+]]: memref<8x64xf32>)
// CHECK-NEXT: linalg.generic {{.+}} iterator_types = ["parallel", "parallel"]} ins([[X]] : {{.+}}) outs([[Y]] :
// CHECK-NEXT: ^bb0([[IN:%.+]]: f32, {{%.+}}: f32):
// CHECK-NEXT: linalg.yield [[IN]] : f32
// CHECK-NOT: memref.copy
// CHECK: return
func.func @whole(%x: memref<8x64xf32>, %y: memref<8x64xf32>) {
  memref.copy %x, %y : memref<8x64xf32> to memref<8x64xf32>
  return
}

// -----

// Layouts may differ: the loops go over the shape, which both have.
// CHECK-LABEL: func.func @to_columns(
// CHECK: [[PART:%.+]] = memref.subview
// CHECK: linalg.generic {{.+}} ins({{%.+}} : memref<8x32xf16>) outs([[PART]] : memref<8x32xf16, strided<[64, 1], offset: 32>>)
// CHECK-NOT: memref.copy
// CHECK: return
func.func @to_columns(%x: memref<8x32xf16>, %y: memref<8x64xf16>) {
  %part = memref.subview %y[0, 32] [8, 32] [1, 1] : memref<8x64xf16> to memref<8x32xf16, strided<[64, 1], offset: 32>>
  memref.copy %x, %part : memref<8x32xf16> to memref<8x32xf16, strided<[64, 1], offset: 32>>
  return
}

// -----

// A single element is a nest without loops.
// CHECK-LABEL: func.func @element(
// CHECK: linalg.generic {{.+}} iterator_types = []}
// CHECK-NOT: memref.copy
// CHECK: return
func.func @element(%x: memref<i64>, %y: memref<i64>) {
  memref.copy %x, %y : memref<i64> to memref<i64>
  return
}
