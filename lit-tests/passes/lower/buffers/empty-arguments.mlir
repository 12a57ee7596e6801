// RUN: %xyntra-opt %s --empty-arguments | FileCheck %s

// CHECK-LABEL: func.func @empty(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<1xi8>, [[Y:%[a-z0-9]+]]: memref<4xf32>, [[Z:%[a-z0-9]+]]: memref<1xi8>)
// CHECK-DAG: [[FROM:%.+]] = memref.view [[X]][{{%.+}}][] : memref<1xi8> to memref<0x4xf32>
// CHECK-DAG: [[TO:%.+]] = memref.view [[Z]][{{%.+}}][] : memref<1xi8> to memref<0x4xf32>
// CHECK: memref.copy [[FROM]], [[TO]]
func.func @empty(%x: memref<0x4xf32>, %y: memref<4xf32>, %z: memref<0x4xf32>) {
  memref.copy %x, %z : memref<0x4xf32> to memref<0x4xf32>
  return
}
