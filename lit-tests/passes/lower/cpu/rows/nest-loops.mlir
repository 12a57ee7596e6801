// RUN: %xyntra-opt %s --schedule-nests=vector-bits=0 --nest-loops --canonicalize --cse | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Loops that continue each other are one loop over a flat buffer.
// CHECK-LABEL: func.func @collapsed(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<5x7xf32>, [[Y:%[a-z0-9]+]]: memref<5x7xf32>)
// CHECK-DAG: [[C35:%.+]] = arith.constant 35 : index
// CHECK-DAG: [[FROM:%.+]] = memref.reinterpret_cast [[X]] {{.+}} to memref<35xf32>
// CHECK-DAG: [[TO:%.+]] = memref.reinterpret_cast [[Y]] {{.+}} to memref<35xf32>
// CHECK: scf.for [[I:%.+]] = {{%.+}} to [[C35]]
// CHECK-NOT: scf.for
// CHECK: [[VALUE:%.+]] = memref.load [[FROM]][[[I]]]
// CHECK-NEXT: [[RESULT:%.+]] = arith.negf [[VALUE]]
// CHECK-NEXT: memref.store [[RESULT]], [[TO]][[[I]]]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @collapsed(%x: memref<5x7xf32>, %y: memref<5x7xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<5x7xf32>) outs(%y : memref<5x7xf32>) {
  ^bb0(%p: f32, %o: f32):
    %n = arith.negf %p : f32
    linalg.yield %n : f32
  }
  return
}

// The accumulator of a reduction stays a value until the end of its row.
// CHECK-LABEL: func.func @accumulator(
// CHECK: scf.for
// CHECK: [[START:%.+]] = memref.load
// CHECK: [[SUM:%.+]] = scf.for {{.+}} iter_args([[ACC:%.+]] = [[START]]) -> (f32) {
// CHECK: [[NEXT:%.+]] = arith.addf [[ACC]], {{%.+}} : f32
// CHECK-NEXT: scf.yield [[NEXT]] : f32
// CHECK: memref.store [[SUM]]
func.func @accumulator(%x: memref<5x7xf32>, %y: memref<5xf32>) {
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<5x7xf32>) outs(%y : memref<5xf32>) {
  ^bb0(%p: f32, %acc: f32):
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  return
}

// Two nests that exchange rows share the loop over them, and the rows need memory for one.
// CHECK-LABEL: func.func @shared(
// CHECK-DAG: [[C0:%.+]] = arith.constant 0 : index
// CHECK-DAG: [[ROW:%.+]] = memref.alloc() : memref<64xf32>
// CHECK: scf.for
// CHECK: scf.for
// CHECK: memref.store {{%.+}}, [[ROW]]
// CHECK-NEXT: } {xyntra.parallel}
// CHECK-NOT: }
// CHECK: scf.for
// CHECK: memref.load [[ROW]]
// CHECK: return
func.func @shared(%x: memref<8x64xf32>, %y: memref<8xf32>) {
  %rows = memref.alloc() : memref<8x64xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<8x64xf32>) outs(%rows : memref<8x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %e = math.exp %p : f32
    linalg.yield %e : f32
  }
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%rows : memref<8x64xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%p: f32, %acc: f32):
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  return
}

// The number of the iteration is that of the loop, and keeps loops apart that would be one.
// CHECK-LABEL: func.func @index(
// CHECK: scf.for [[I:%.+]] = {{%.+}} to {{%.+}}
// CHECK: scf.for [[J:%.+]] = {{%.+}} to {{%.+}}
// CHECK: [[SUM:%.+]] = arith.addi [[I]], [[J]]
// CHECK: memref.store [[SUM]]
// CHECK-NOT: linalg
// CHECK: return
func.func @index(%y: memref<5x1x7xindex>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
      iterator_types = ["parallel", "parallel", "parallel"]} outs(%y : memref<5x1x7xindex>) {
  ^bb0(%o: index):
    %i = linalg.index 0 : index
    %j = linalg.index 2 : index
    %s = arith.addi %i, %j : index
    linalg.yield %s : index
  }
  return
}

// Rows are shared by nests of other ranks, and cut where the loops of the others end.
// CHECK-LABEL: func.func @other_ranks(
// CHECK-DAG: [[C2:%.+]] = arith.constant 2 : index
// CHECK-DAG: [[C4:%.+]] = arith.constant 4 : index
// CHECK-DAG: [[ROW:%.+]] = memref.alloc() : memref<64xf32>
// CHECK: scf.for {{%.+}} = {{%.+}} to [[C2]]
// CHECK: scf.for {{%.+}} = {{%.+}} to [[C4]]
// CHECK: memref.store {{%.+}}, [[ROW]]
// CHECK: memref.load [[ROW]]
// CHECK: return
func.func @other_ranks(%x: memref<1x2x4x64xf32>, %y: memref<8xf32>) {
  %rows = memref.alloc() : memref<1x2x4x64xf32>
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>,
      affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : memref<1x2x4x64xf32>) outs(%rows : memref<1x2x4x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %e = math.exp %p : f32
    linalg.yield %e : f32
  }
  %matrix = memref.collapse_shape %rows [[0, 1, 2], [3]] : memref<1x2x4x64xf32> into memref<8x64xf32>
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%matrix : memref<8x64xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%p: f32, %acc: f32):
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  return
}
