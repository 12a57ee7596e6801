// RUN: %xyntra-opt %s --scatter-updates --split-input-file | FileCheck %s

// Fifteen updates, one after the other, take no longer than several launches.
// CHECK-LABEL: func.func @few(
// CHECK-NOT: memref.alloc
// CHECK-NOT: xyntra.parallel
// CHECK: return
func.func @few(%at: memref<15xindex>, %u: memref<15x4xf32>, %y: memref<100x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %steps = arith.constant 15 : index
  %columns = arith.constant 4 : index
  scf.for %i = %c0 to %steps step %c1 {
    scf.for %j = %c0 to %columns step %c1 {
      %row = memref.load %at[%i] : memref<15xindex>
      %p = memref.load %u[%i, %j] : memref<15x4xf32>
      memref.store %p, %y[%row, %j] : memref<100x4xf32>
    }
  }
  return
}

// -----

// An update reads what earlier ones may have written elsewhere: the order of all of them counts.
// CHECK-LABEL: func.func @reads_another_place(
// CHECK-NOT: memref.alloc
// CHECK-NOT: xyntra.parallel
// CHECK: return
func.func @reads_another_place(%at: memref<64xindex>, %u: memref<64x4xf32>, %y: memref<100x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %steps = arith.constant 64 : index
  %columns = arith.constant 4 : index
  scf.for %i = %c0 to %steps step %c1 {
    scf.for %j = %c0 to %columns step %c1 {
      %row = memref.load %at[%i] : memref<64xindex>
      %p = memref.load %y[%i, %j] : memref<100x4xf32>
      memref.store %p, %y[%row, %j] : memref<100x4xf32>
    }
  }
  return
}

// -----

// The place of an update depends on those before it.
// CHECK-LABEL: func.func @places_from_what_is_written(
// CHECK-NOT: memref.alloc
// CHECK-NOT: xyntra.parallel
// CHECK: return
func.func @places_from_what_is_written(%links: memref<100xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %steps = arith.constant 100 : index
  scf.for %i = %c0 to %steps step %c1 {
    %at = memref.load %links[%i] : memref<100xindex>
    memref.store %i, %links[%at] : memref<100xindex>
  }
  return
}

// -----

// Updates of two memories would need two orders.
// CHECK-LABEL: func.func @two_memories(
// CHECK-NOT: memref.alloc
// CHECK-NOT: xyntra.parallel
// CHECK: return
func.func @two_memories(%at: memref<64xindex>, %u: memref<64x4xf32>, %y: memref<100x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %steps = arith.constant 64 : index
  %columns = arith.constant 4 : index
  scf.for %i = %c0 to %steps step %c1 {
    scf.for %j = %c0 to %columns step %c1 {
      %row = memref.load %at[%i] : memref<64xindex>
      %p = memref.load %u[%i, %j] : memref<64x4xf32>
      memref.store %p, %y[%row, %j] : memref<100x4xf32>
      memref.store %p, %u[%i, %j] : memref<64x4xf32>
    }
  }
  return
}

// -----

// Data tells no place: the iterations of the inner loop need no order as they are.
// CHECK-LABEL: func.func @data_tells_nothing(
// CHECK-NOT: memref.alloc
// CHECK-NOT: xyntra.parallel
// CHECK: return
func.func @data_tells_nothing(%u: memref<64x4xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %steps = arith.constant 64 : index
  %columns = arith.constant 4 : index
  scf.for %i = %c0 to %steps step %c1 {
    scf.for %j = %c0 to %columns step %c1 {
      %p = memref.load %u[%i, %j] : memref<64x4xf32>
      memref.store %p, %y[%j] : memref<4xf32>
    }
  }
  return
}
