// RUN: %xyntra-opt %s --forward-copies | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// The parts of a concatenation are computed where they belong.
// CHECK-LABEL: func.func @parts(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<4xf32>, [[Y:%[a-z0-9]+]]: memref<8xf32>)
// CHECK-DAG: [[LOW:%.+]] = memref.subview [[Y]][0] [4] [1]
// CHECK: linalg.generic {{.+}} ins([[X]] : memref<4xf32>) outs([[LOW]] :
// CHECK: [[HIGH:%.+]] = memref.subview [[Y]][4] [4] [1]
// CHECK: linalg.generic {{.+}} ins([[X]] : memref<4xf32>) outs([[HIGH]] :
// CHECK-NOT: memref.copy
// CHECK: return
func.func @parts(%x: memref<4xf32>, %y: memref<8xf32>) {
  %a = memref.alloc() : memref<4xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : memref<4xf32>) outs(%a : memref<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %n = arith.negf %p : f32
    linalg.yield %n : f32
  }
  %low = memref.subview %y[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  memref.copy %a, %low : memref<4xf32> to memref<4xf32, strided<[1]>>
  %b = memref.alloc() : memref<4xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : memref<4xf32>) outs(%b : memref<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %n = math.absf %p : f32
    linalg.yield %n : f32
  }
  %high = memref.subview %y[4] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
  memref.copy %b, %high : memref<4xf32> to memref<4xf32, strided<[1], offset: 4>>
  return
}

// CHECK-LABEL: func.func @onto_itself(
// CHECK-NEXT: return
func.func @onto_itself(%x: memref<4xf32>) {
  memref.copy %x, %x : memref<4xf32> to memref<4xf32>
  return
}

// Loops that update a copy do so where the result belongs.
// CHECK-LABEL: func.func @loops(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<4xf32>, [[Y:%[a-z0-9]+]]: memref<4xf32>)
// CHECK: memref.copy [[X]], [[Y]]
// CHECK: scf.for
// CHECK: memref.store {{.+}}, [[Y]]
// CHECK-NOT: memref.copy
// CHECK: return
func.func @loops(%x: memref<4xf32>, %y: memref<4xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %a = memref.alloc() : memref<4xf32>
  memref.copy %x, %a : memref<4xf32> to memref<4xf32>
  scf.for %i = %zero to %four step %one {
    %v = memref.load %a[%i] : memref<4xf32>
    %n = arith.negf %v : f32
    memref.store %n, %a[%zero] : memref<4xf32>
  }
  memref.copy %a, %y : memref<4xf32> to memref<4xf32>
  return
}
