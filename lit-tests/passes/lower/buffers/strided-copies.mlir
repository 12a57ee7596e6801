// RUN: %xyntra-opt %s --strided-copies | FileCheck %s

// CHECK: [[ID:#.+]] = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: func.func @from(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<4x8xf32, strided<[16, 1]>>, [[Y:%[a-z0-9]+]]: memref<4x8xf32>)
// CHECK-NEXT: linalg.generic {indexing_maps = [[[ID]], [[ID]]], iterator_types = ["parallel", "parallel"]}
// CHECK-SAME: ins([[X]] :
// CHECK-SAME: outs([[Y]] :
// CHECK-NEXT: ^bb0([[VALUE:%.+]]: f32, {{%.+}}: f32):
// CHECK-NEXT: linalg.yield [[VALUE]] : f32
// CHECK-NOT: memref.copy
// CHECK: return
func.func @from(%x: memref<4x8xf32, strided<[16, 1]>>, %y: memref<4x8xf32>) {
  memref.copy %x, %y : memref<4x8xf32, strided<[16, 1]>> to memref<4x8xf32>
  return
}

// An offset counts as well: the target does not start at its pointer.
// CHECK-LABEL: func.func @to(
// CHECK: linalg.generic
// CHECK-NOT: memref.copy
func.func @to(%x: memref<8xi8>, %y: memref<8xi8, strided<[1], offset: 3>>) {
  memref.copy %x, %y : memref<8xi8> to memref<8xi8, strided<[1], offset: 3>>
  return
}
