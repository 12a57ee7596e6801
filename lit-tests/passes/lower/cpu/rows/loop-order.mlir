// RUN: %xyntra-opt %s --loop-order | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// CHECK-DAG: [[ID:#.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: [[COLUMN:#.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: [[ROW:#.+]] = affine_map<(d0, d1) -> (d0)>

// The loop with the neighbouring elements comes last, and linalg.index follows its loop.
// CHECK-LABEL: func.func @columns_first(
// CHECK: linalg.generic {indexing_maps = [[[ID]], [[ID]]]
// CHECK: linalg.index 0 : index
func.func @columns_first(%x: memref<64x64xindex>, %y: memref<64x64xindex>) {
  linalg.generic {indexing_maps = [#swap, #swap], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<64x64xindex>) outs(%y : memref<64x64xindex>) {
  ^bb0(%p: index, %o: index):
    %row = linalg.index 1 : index
    %s = arith.addi %p, %row : index
    linalg.yield %s : index
  }
  return
}

// A sum of columns runs along the rows, which are contiguous.
// CHECK-LABEL: func.func @sum_of_columns(
// CHECK: linalg.generic {indexing_maps = [[[ID]], [[COLUMN]]], iterator_types = ["reduction", "parallel"]}
func.func @sum_of_columns(%x: memref<64x64xf32>, %y: memref<64xf32>) {
  linalg.generic {indexing_maps = [#swap, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<64x64xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%p: f32, %acc: f32):
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  }
  return
}

// A sum of rows has its reduction innermost.
// CHECK-LABEL: func.func @sum_of_rows(
// CHECK: linalg.generic {indexing_maps = [[[ID]], [[ROW]]], iterator_types = ["parallel", "reduction"]}
func.func @sum_of_rows(%x: memref<64x64xf32>, %y: memref<64xf32>) {
  linalg.generic {indexing_maps = [#swap, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<64x64xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%p: f32, %acc: f32):
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  }
  return
}
