// RUN: %xyntra-opt %s --schedule-nests --channel-reductions | FileCheck %s

#id = affine_map<(n, c) -> (n, c)>
#read = affine_map<(n, c, y, x) -> (n, y, x, c)>
#write = affine_map<(n, c, y, x) -> (n, c)>

// Forty channels are five vectors, which stay in registers over all positions.
// CHECK-LABEL: func.func @pool(
// CHECK: [[START:%.+]] = vector.broadcast {{.+}} : f32 to vector<8xf32>
// CHECK: scf.for {{.+}} iter_args({{.+}} = [[START]], {{.+}} = [[START]], {{.+}} = [[START]], {{.+}} = [[START]], {{.+}} = [[START]])
// CHECK: vector.load {{.+}} : memref<13720xf32>, vector<8xf32>
// CHECK: arith.addf
// CHECK: vector.store
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @pool(%x: memref<7x7x7x40xf32>, %y: memref<7x40xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%y : memref<7x40xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#read, #write], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x : memref<7x7x7x40xf32>) outs(%y : memref<7x40xf32>) {
  ^bb0(%p: f32, %acc: f32):
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  return
}

#given = affine_map<(n, c, p) -> (n, c)>
#rows = affine_map<(n, c, p) -> (n, p, c)>
#parts = affine_map<(n, c, p) -> (c, n)>

// What channels are given is loaded once. Sums that lie apart are stored one by one.
// CHECK-LABEL: func.func @deviations(
// CHECK: [[MEAN:%.+]] = vector.load {{.+}} : memref<64xf32>, vector<8xf32>
// CHECK: scf.for
// CHECK: [[X:%.+]] = vector.load {{.+}} : memref<3136xf32>, vector<8xf32>
// CHECK: arith.subf [[X]], [[MEAN]] : vector<8xf32>
// CHECK-COUNT-16: vector.extract
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @deviations(%x: memref<4x49x16xf32>, %m: memref<4x16xf32>, %y: memref<16x4xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%y : memref<16x4xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#rows, #given, #parts], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %m : memref<4x49x16xf32>, memref<4x16xf32>) outs(%y : memref<16x4xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %d = arith.subf %p, %q : f32
    %e = arith.mulf %d, %d : f32
    %s = arith.addf %acc, %e : f32
    linalg.yield %s : f32
  }
  return
}
