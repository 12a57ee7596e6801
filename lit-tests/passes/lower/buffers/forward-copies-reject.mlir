// RUN: %xyntra-opt %s --forward-copies | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// The place is read before the copy.
// CHECK-LABEL: func.func @read_before(
// CHECK: memref.copy
func.func @read_before(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = memref.alloc() : memref<4xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%y : memref<4xf32>) outs(%a : memref<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %n = arith.negf %p : f32
    linalg.yield %n : f32
  }
  memref.copy %a, %y : memref<4xf32> to memref<4xf32>
  return
}

// What was copied is overwritten later.
// CHECK-LABEL: func.func @written_later(
// CHECK: memref.copy
func.func @written_later(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {
  %a = memref.alloc() : memref<4xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : memref<4xf32>) outs(%a : memref<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %n = arith.negf %p : f32
    linalg.yield %n : f32
  }
  memref.copy %a, %y : memref<4xf32> to memref<4xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : memref<4xf32>) outs(%a : memref<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %n = math.absf %p : f32
    linalg.yield %n : f32
  }
  return
}

// Slices that overlap: the second one is to win.
// CHECK-LABEL: func.func @overlap(
// CHECK-COUNT-2: memref.copy
func.func @overlap(%x: memref<4xf32>, %y: memref<6xf32>) {
  %a = memref.alloc() : memref<4xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : memref<4xf32>) outs(%a : memref<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %n = arith.negf %p : f32
    linalg.yield %n : f32
  }
  %low = memref.subview %y[0] [4] [1] : memref<6xf32> to memref<4xf32, strided<[1]>>
  memref.copy %a, %low : memref<4xf32> to memref<4xf32, strided<[1]>>
  %high = memref.subview %y[2] [4] [1] : memref<6xf32> to memref<4xf32, strided<[1], offset: 2>>
  memref.copy %x, %high : memref<4xf32> to memref<4xf32, strided<[1], offset: 2>>
  return
}

// Loops overwrite what was copied.
// CHECK-LABEL: func.func @loops_behind(
// CHECK: memref.copy
// CHECK: memref.copy
func.func @loops_behind(%x: memref<4xf32>, %y: memref<4xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %a = memref.alloc() : memref<4xf32>
  memref.copy %x, %a : memref<4xf32> to memref<4xf32>
  memref.copy %a, %y : memref<4xf32> to memref<4xf32>
  scf.for %i = %zero to %four step %one {
    %v = memref.load %a[%i] : memref<4xf32>
    memref.store %v, %a[%zero] : memref<4xf32>
  }
  return
}
