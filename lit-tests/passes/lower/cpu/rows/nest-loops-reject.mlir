// RUN: %xyntra-opt %s --schedule-nests --nest-loops | FileCheck %s

#id = affine_map<(d0) -> (d0)>
#half = affine_map<(d0) -> (d0 floordiv 2)>

// An access that is not linear, a body with a region, empty loops.
// CHECK-LABEL: func.func @not_linear(
// CHECK-NOT: scf.for
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT: scf.for
// CHECK: return
func.func @not_linear(%x: memref<4xindex>, %y: memref<8xindex>, %z: memref<0xindex>) {
  linalg.generic {indexing_maps = [#half, #id], iterator_types = ["parallel"]}
      ins(%x : memref<4xindex>) outs(%y : memref<8xindex>) {
  ^bb0(%p: index, %o: index):
    linalg.yield %p : index
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%y : memref<8xindex>) {
  ^bb0(%o: index):
    %t = arith.constant true
    %i = scf.if %t -> index {
      scf.yield %o : index
    } else {
      scf.yield %o : index
    }
    linalg.yield %i : index
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%z : memref<0xindex>) {
  ^bb0(%o: index):
    linalg.yield %o : index
  }
  return
}

// Memory of unknown shape or strides, and tensors.
// CHECK-LABEL: func.func @unknown_layout(
// CHECK-NOT: scf.for
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT: scf.for
// CHECK: return
func.func @unknown_layout(%x: memref<?xf32>, %y: memref<8xf32, strided<[?]>>, %z: tensor<8xf32>) -> tensor<8xf32> {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<?xf32>) {
  ^bb0(%o: f32):
    linalg.yield %o : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%y : memref<8xf32, strided<[?]>>) {
  ^bb0(%o: f32):
    linalg.yield %o : f32
  }
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%z : tensor<8xf32>) {
  ^bb0(%o: f32):
    linalg.yield %o : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
