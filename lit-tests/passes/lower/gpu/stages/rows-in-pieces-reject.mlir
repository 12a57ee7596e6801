// RUN: %xyntra-opt %s --rows-in-pieces --split-input-file | FileCheck %s

// Some operations read halves, and one reads every second element.
// CHECK-LABEL: func.func @other_pieces
// CHECK: iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME: ins(%{{.*}} : memref<6x3x32xf32>)
func.func @other_pieces(%x: memref<6x3x32xf32>, %y: memref<3x6x32xf32>, %z: memref<6x3x16xf32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "generic"}>} {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<6x3xf32>
  %n = memref.alloc() : memref<6x3x32xf32>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%s : memref<6x3xf32>) {
  ^bb0(%out: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : memref<6x3x32xf32>) outs(%s : memref<6x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : memref<6x3x32xf32>, memref<6x3xf32>) outs(%n : memref<6x3x32xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %0 = arith.divf %in, %sum : f32
    linalg.yield %0 : f32
  }
  %low = memref.reinterpret_cast %n to offset: [0], sizes: [3, 6, 16], strides: [32, 96, 1] : memref<6x3x32xf32> to memref<3x6x16xf32, strided<[32, 96, 1], offset: 0>>
  %high = memref.reinterpret_cast %n to offset: [16], sizes: [3, 6, 16], strides: [32, 96, 1] : memref<6x3x32xf32> to memref<3x6x16xf32, strided<[32, 96, 1], offset: 16>>
  %first = memref.reinterpret_cast %y to offset: [0], sizes: [3, 6, 16], strides: [192, 32, 1] : memref<3x6x32xf32> to memref<3x6x16xf32, strided<[192, 32, 1], offset: 0>>
  %second = memref.reinterpret_cast %y to offset: [16], sizes: [3, 6, 16], strides: [192, 32, 1] : memref<3x6x32xf32> to memref<3x6x16xf32, strided<[192, 32, 1], offset: 16>>
  %even = memref.reinterpret_cast %n to offset: [0], sizes: [6, 3, 16], strides: [96, 32, 2] : memref<6x3x32xf32> to memref<6x3x16xf32, strided<[96, 32, 2], offset: 0>>
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%even : memref<6x3x16xf32, strided<[96, 32, 2], offset: 0>>) outs(%z : memref<6x3x16xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%low, %high : memref<3x6x16xf32, strided<[32, 96, 1], offset: 0>>, memref<3x6x16xf32, strided<[32, 96, 1], offset: 16>>) outs(%first : memref<3x6x16xf32, strided<[192, 32, 1], offset: 0>>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.subf %a, %b : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%low, %high : memref<3x6x16xf32, strided<[32, 96, 1], offset: 0>>, memref<3x6x16xf32, strided<[32, 96, 1], offset: 16>>) outs(%second : memref<3x6x16xf32, strided<[192, 32, 1], offset: 16>>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Nothing is reduced.
// CHECK-LABEL: func.func @no_sum
// CHECK: ins(%{{.*}} : memref<6x3x32xf32>)
func.func @no_sum(%x: memref<6x3x32xf32>, %y: memref<3x6x32xf32>) attributes {xyntra.kernel = #xyntra.kernel<{kind = "generic"}>} {
  %n = memref.alloc() : memref<6x3x32xf32>
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<6x3x32xf32>) outs(%n : memref<6x3x32xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  }
  %low = memref.reinterpret_cast %n to offset: [0], sizes: [3, 6, 16], strides: [32, 96, 1] : memref<6x3x32xf32> to memref<3x6x16xf32, strided<[32, 96, 1], offset: 0>>
  %high = memref.reinterpret_cast %n to offset: [16], sizes: [3, 6, 16], strides: [32, 96, 1] : memref<6x3x32xf32> to memref<3x6x16xf32, strided<[32, 96, 1], offset: 16>>
  %first = memref.reinterpret_cast %y to offset: [0], sizes: [3, 6, 16], strides: [192, 32, 1] : memref<3x6x32xf32> to memref<3x6x16xf32, strided<[192, 32, 1], offset: 0>>
  %second = memref.reinterpret_cast %y to offset: [16], sizes: [3, 6, 16], strides: [192, 32, 1] : memref<3x6x32xf32> to memref<3x6x16xf32, strided<[192, 32, 1], offset: 16>>
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%low, %high : memref<3x6x16xf32, strided<[32, 96, 1], offset: 0>>, memref<3x6x16xf32, strided<[32, 96, 1], offset: 16>>) outs(%first : memref<3x6x16xf32, strided<[192, 32, 1], offset: 0>>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.subf %a, %b : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%low, %high : memref<3x6x16xf32, strided<[32, 96, 1], offset: 0>>, memref<3x6x16xf32, strided<[32, 96, 1], offset: 16>>) outs(%second : memref<3x6x16xf32, strided<[192, 32, 1], offset: 16>>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}
