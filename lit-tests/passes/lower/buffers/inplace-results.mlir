// RUN: %xyntra-opt %s --inplace-results --split-input-file | FileCheck %s

// What is already in its argument's buffer is not moved.
// CHECK-LABEL: func.func @in_place(
// CHECK-SAME: {{%[a-z0-9]+}}: memref<4xf32>) attributes
// CHECK-NOT: memref
// CHECK: return{{$}}
func.func @in_place(%x: memref<4xf32>) -> memref<4xf32> attributes {xyntra.inplace = [[0, 0]]} {
  return %x : memref<4xf32>
}

// -----

// Arguments that trade places are both read before one is written.
// CHECK-LABEL: func.func @swapped(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<4xf32>, [[Y:%[a-z0-9]+]]: memref<4xf32>)
// CHECK: [[A:%.+]] = memref.alloc() : memref<4xf32>
// CHECK: memref.copy [[Y]], [[A]]
// CHECK: [[B:%.+]] = memref.alloc() : memref<4xf32>
// CHECK: memref.copy [[X]], [[B]]
// CHECK: memref.copy [[A]], [[X]]
// CHECK: memref.copy [[B]], [[Y]]
// CHECK-NEXT: return{{$}}
func.func @swapped(%x: memref<4xf32>, %y: memref<4xf32>) -> (memref<4xf32>, memref<4xf32>)
    attributes {xyntra.inplace = [[0, 0], [1, 1]]} {
  return %y, %x : memref<4xf32>, memref<4xf32>
}
