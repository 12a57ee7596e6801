// RUN: %xyntra-opt %s --scalarize-vectors --split-input-file | FileCheck %s

// Neighbours are loaded and stored one by one.
// CHECK-LABEL: func.func @copy(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<8x16xf32>, [[Y:%[a-z0-9]+]]: memref<16xf32>, [[I:%[a-z0-9]+]]: index)
// CHECK: [[A:%.+]] = memref.load [[X]]{{\[}}[[I]], [[I]]] : memref<8x16xf32>
// CHECK: [[NEXT:%.+]] = arith.addi [[I]], {{%.+}} : index
// CHECK: [[B:%.+]] = memref.load [[X]]{{\[}}[[I]], [[NEXT]]] : memref<8x16xf32>
// CHECK: [[TWO_A:%.+]] = arith.addf [[A]], [[A]] fastmath<contract> : f32
// CHECK: [[TWO_B:%.+]] = arith.addf [[B]], [[B]] fastmath<contract> : f32
// CHECK: memref.store [[TWO_A]], [[Y]]{{\[}}[[I]]] : memref<16xf32>
// CHECK: memref.store [[TWO_B]], [[Y]]{{\[}}{{%.+}}] : memref<16xf32>
// CHECK-NOT: vector
func.func @copy(%x: memref<8x16xf32>, %y: memref<16xf32>, %i: index) {
  %0 = vector.load %x[%i, %i] : memref<8x16xf32>, vector<2xf32>
  %1 = arith.addf %0, %0 fastmath<contract> : vector<2xf32>
  vector.store %1, %y[%i] : memref<16xf32>, vector<2xf32>
  return
}

// -----

// Loops and branches carry a scalar for each element.
// CHECK-LABEL: func.func @carried(
// CHECK: [[TOTAL:%.+]]:2 = scf.for {{%.+}} = {{.*}} iter_args([[P:%.+]] = {{%.+}}, [[Q:%.+]] = {{%.+}}) -> (f32, f32)
// CHECK: [[THEN:%.+]]:2 = scf.if {{%.+}} -> (f32, f32)
// CHECK: scf.yield [[P]], [[Q]] : f32, f32
// CHECK: scf.yield [[THEN]]#0, [[THEN]]#1 : f32, f32
// CHECK: arith.addf [[TOTAL]]#0, [[TOTAL]]#1 : f32
// CHECK-NOT: vector
func.func @carried(%x: memref<16xf32>, %n: index, %c: i1) -> f32 {
  %zero = arith.constant dense<[0.0, -1.0]> : vector<2xf32>
  %0 = arith.constant 0 : index
  %2 = arith.constant 2 : index
  %total = scf.for %i = %0 to %n step %2 iter_args(%t = %zero) -> vector<2xf32> {
    %then = scf.if %c -> vector<2xf32> {
      scf.yield %t : vector<2xf32>
    } else {
      %v = vector.load %x[%i] : memref<16xf32>, vector<2xf32>
      scf.yield %v : vector<2xf32>
    }
    scf.yield %then : vector<2xf32>
  }
  %a = vector.extract %total[0] : f32 from vector<2xf32>
  %b = vector.extract %total[1] : f32 from vector<2xf32>
  %sum = arith.addf %a, %b : f32
  return %sum : f32
}

// -----

// A condition may be one for all elements, or have one for each.
// CHECK-LABEL: func.func @selected(
// CHECK-SAME: [[C:%[a-z0-9]+]]: i1, [[X:%[a-z0-9]+]]: f32)
// CHECK: [[A:%.+]] = arith.cmpf olt, [[X]], {{%.+}} : f32
// CHECK: [[B:%.+]] = arith.cmpf olt, [[X]], {{%.+}} : f32
// CHECK: [[ALL:%.+]] = arith.select [[C]], [[X]], {{%.+}} : f32
// CHECK: arith.select [[C]], [[X]], {{%.+}} : f32
// CHECK: arith.select [[A]], [[ALL]], {{%.+}} : f32
// CHECK: arith.select [[B]], {{%.+}}, {{%.+}} : f32
func.func @selected(%c: i1, %x: f32) -> f32 {
  %0 = vector.broadcast %x : f32 to vector<2xf32>
  %1 = arith.constant dense<1.0> : vector<2xf32>
  %2 = arith.cmpf olt, %0, %1 : vector<2xf32>
  %3 = arith.select %c, %0, %1 : vector<2xf32>
  %4 = arith.select %2, %3, %1 : vector<2xi1>, vector<2xf32>
  %5 = vector.insert %x, %4 [0] : f32 into vector<2xf32>
  %6:2 = vector.to_elements %5 : vector<2xf32>
  %7 = vector.from_elements %6#1, %6#0 : vector<2xf32>
  %8 = vector.extract %7[0] : f32 from vector<2xf32>
  return %8 : f32
}
