// RUN: %xyntra-opt %s --schedule-nests --nest-loops --canonicalize --cse | FileCheck %s
// RUN: %xyntra-opt %s --schedule-nests=cache-bytes=1 --nest-loops --canonicalize --cse | FileCheck %s --check-prefix=PAST

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Four vectors side by side, then what is left in ever narrower vectors.
// CHECK-LABEL: func.func @elementwise(
// CHECK: scf.for
// CHECK-COUNT-4: vector.load {{.+}} vector<8xf32>
// CHECK: math.absf {{.+}} vector<8xf32>
// CHECK-NEXT: math.absf {{.+}} vector<8xf32>
// CHECK: }
// CHECK: vector.load {{.+}} vector<4xf32>
// CHECK: vector.load {{.+}} vector<1xf32>
// CHECK-NOT: vector.load
// CHECK: return

// Results of a kernel that moves more than the caches hold are stored past them, where they are
// aligned.
// PAST-LABEL: func.func @elementwise(
// PAST: [[PLACE:%.+]] = memref.extract_aligned_pointer_as_index
// PAST: [[LOW:%.+]] = arith.andi [[PLACE]], %c15
// PAST: [[ALIGNED:%.+]] = arith.cmpi eq, [[LOW]], %c0
// PAST: scf.if [[ALIGNED]] {
// PAST-COUNT-4: vector.store {{.+}} {alignment = 16 : i64, nontemporal = true}
// PAST: } else {
// PAST-NOT: nontemporal
// PAST: return
func.func @elementwise(%x: memref<7x11xf32>, %y: memref<7x11xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<7x11xf32>) outs(%y : memref<7x11xf32>) {
  ^bb0(%p: f32, %o: f32):
    %n = math.absf %p : f32
    linalg.yield %n : f32
  }
  return
}

// What is computed and what sums it up share a pass, and so a register. While one row is walked for
// the second time, the next one is fetched.
// CHECK-LABEL: func.func @rows(
// CHECK: scf.for
// CHECK: scf.for {{.+}} iter_args
// CHECK-NOT: memref.prefetch
// CHECK: arith.maximumf
// CHECK: scf.for {{.+}} iter_args
// CHECK: memref.prefetch
// CHECK: [[D:%.+]] = arith.subf
// CHECK: vector.store [[D]]
// CHECK: arith.addf {{.+}}, [[D]]
// CHECK: scf.for
// CHECK: arith.mulf
// CHECK: return
func.func @rows(%x: memref<4x256xf32>, %y: memref<4x256xf32>) {
  %zero = arith.constant 0.0 : f32
  %top = memref.alloc() : memref<4xf32>
  %sum = memref.alloc() : memref<4xf32>
  %differences = memref.alloc() : memref<4x256xf32>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%top : memref<4xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x256xf32>) outs(%top : memref<4xf32>) {
  ^bb0(%p: f32, %acc: f32):
    %m = arith.maximumf %acc, %p : f32
    linalg.yield %m : f32
  }
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %top : memref<4x256xf32>, memref<4xf32>) outs(%differences : memref<4x256xf32>) {
  ^bb0(%p: f32, %t: f32, %o: f32):
    %d = arith.subf %p, %t : f32
    linalg.yield %d : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%sum : memref<4xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%differences : memref<4x256xf32>) outs(%sum : memref<4xf32>) {
  ^bb0(%d: f32, %acc: f32):
    %s = arith.addf %acc, %d : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%differences, %sum : memref<4x256xf32>, memref<4xf32>) outs(%y : memref<4x256xf32>) {
  ^bb0(%d: f32, %s: f32, %o: f32):
    %r = arith.mulf %d, %s : f32
    linalg.yield %r : f32
  }
  return
}

// A transposition loads rows, turns a tile in registers, and stores columns.
// CHECK-LABEL: func.func @transposed(
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-8: vector.load {{.+}} vector<8xf32>
// CHECK: vector.shuffle {{.+}} [0, 8, 1, 9, 4, 12, 5, 13]
// CHECK: vector.shuffle {{.+}} [0, 1, 8, 9, 4, 5, 12, 13]
// CHECK: vector.shuffle {{.+}} [0, 1, 2, 3, 8, 9, 10, 11]
// CHECK-COUNT-8: vector.store
// CHECK: return
func.func @transposed(%x: memref<64x64xf32>, %y: memref<64x64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<64x64xf32>) outs(%y : memref<64x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  return
}

// Wide elements out of sequence, and elements that no vector holds: loops that LLVM sees to.
// CHECK-LABEL: func.func @scalars(
// CHECK-NOT: vector
// CHECK: return
func.func @scalars(%x: memref<64x64xf64>, %y: memref<64x64xf64>, %a: memref<64xi1>, %b: memref<64xi1>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<64x64xf64>) outs(%y : memref<64x64xf64>) {
  ^bb0(%p: f64, %o: f64):
    linalg.yield %p : f64
  }
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                  iterator_types = ["parallel"]}
      ins(%a : memref<64xi1>) outs(%b : memref<64xi1>) {
  ^bb0(%p: i1, %o: i1):
    linalg.yield %p : i1
  }
  return
}
