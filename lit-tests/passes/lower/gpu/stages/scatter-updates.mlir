// RUN: %xyntra-opt %s --scatter-updates --split-input-file | FileCheck %s

// Rows of a table are overwritten, one after the other, at places that data tells. The last update of
// each place counts: a first loop clears the table of last updates, a second one finds them by atomic
// maxima, and in a third one each update writes that is the last of its place.
// CHECK-LABEL: func.func @overwrites(
// CHECK-SAME: [[AT:%[a-z0-9]+]]: memref<64xindex>, [[U:%[a-z0-9]+]]: memref<64x4xf32>, [[Y:%[a-z0-9]+]]: memref<100x4xf32>)
// CHECK: [[LAST:%.+]] = memref.alloc() : memref<100xi32>
// CHECK: scf.for
// CHECK: memref.store {{%.+}}, [[LAST]]
// CHECK: } {xyntra.parallel}
// CHECK: scf.for
// CHECK: memref.atomic_rmw maxs {{%.+}}, [[LAST]]
// CHECK: } {xyntra.parallel}
// CHECK: scf.for
// CHECK: memref.load [[LAST]]
// CHECK: arith.cmpi eq
// CHECK: scf.if
// CHECK: memref.store {{%.+}}, [[Y]]
// CHECK: } {xyntra.parallel}
// CHECK-NEXT: return
func.func @overwrites(%at: memref<64xindex>, %u: memref<64x4xf32>, %y: memref<100x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %steps = arith.constant 64 : index
  %columns = arith.constant 4 : index
  scf.for %i = %c0 to %steps step %c1 {
    scf.for %j = %c0 to %columns step %c1 {
      %row = memref.load %at[%i] : memref<64xindex>
      %p = memref.load %u[%i, %j] : memref<64x4xf32>
      memref.store %p, %y[%row, %j] : memref<100x4xf32>
    }
  }
  return
}

// -----

// Updates that add to what is there keep their order. Loops count those of each place, give each place
// a part of a list, put the updates there and sort them; in the last loop a thread goes through the
// list of one place and column.
// CHECK-LABEL: func.func @adds(
// CHECK-SAME: [[Y:%[a-z0-9]+]]: memref<100x4xf32>)
// CHECK: [[COUNTS:%.+]] = memref.alloc() : memref<100xi32>
// CHECK: memref.atomic_rmw addi {{%.+}}, [[COUNTS]]
// CHECK: } {xyntra.parallel}
// CHECK: memref.atomic_rmw addi
// CHECK: } {xyntra.parallel}
// CHECK-NOT: [[Y]]
// CHECK: scf.for
// CHECK: scf.for
// CHECK: memref.load [[Y]]
// CHECK: arith.addf
// CHECK: memref.store {{%.+}}, [[Y]]
// CHECK: } {xyntra.parallel}
// CHECK-NEXT: return
func.func @adds(%at: memref<64xindex>, %u: memref<64x4xf32>, %y: memref<100x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %steps = arith.constant 64 : index
  %columns = arith.constant 4 : index
  scf.for %i = %c0 to %steps step %c1 {
    scf.for %j = %c0 to %columns step %c1 {
      %row = memref.load %at[%i] : memref<64xindex>
      %p = memref.load %u[%i, %j] : memref<64x4xf32>
      %old = memref.load %y[%row, %j] : memref<100x4xf32>
      %new = arith.addf %old, %p : f32
      memref.store %new, %y[%row, %j] : memref<100x4xf32>
    }
  }
  return
}

// -----

// Updates that are not made leave the table alone. As the condition changes with the column, so do the
// last updates: there are as many for each column.
// CHECK-LABEL: func.func @under_a_condition(
// CHECK: [[LAST:%.+]] = memref.alloc() : memref<400xi32>
// CHECK: arith.cmpf ogt
// CHECK: scf.if
// CHECK: memref.atomic_rmw maxs {{%.+}}, [[LAST]]
// CHECK: arith.cmpf ogt
// CHECK: scf.if
// CHECK: scf.if
// CHECK: memref.store
// CHECK: return
func.func @under_a_condition(%at: memref<64xindex>, %u: memref<64x4xf32>, %y: memref<100x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %steps = arith.constant 64 : index
  %columns = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %steps step %c1 {
    scf.for %j = %c0 to %columns step %c1 {
      %row = memref.load %at[%i] : memref<64xindex>
      %p = memref.load %u[%i, %j] : memref<64x4xf32>
      %asked = arith.cmpf ogt, %p, %zero : f32
      scf.if %asked {
        memref.store %p, %y[%row, %j] : memref<100x4xf32>
      }
    }
  }
  return
}
