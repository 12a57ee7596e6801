// RUN: %xyntra-opt %s --narrow-contractions --canonicalize --cse | FileCheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>

// CHECK-LABEL: func.func @product(
func.func @product(%a: tensor<4x8xbf16>, %b: tensor<8x6xbf16>) -> tensor<4x6xf32> {
  // CHECK: linalg.generic {{.+}} ins(%arg0, %arg1 : tensor<4x8xbf16>, tensor<8x6xbf16>)
  // CHECK-NEXT: ^bb0(%[[X:.+]]: bf16, %[[Y:.+]]: bf16, %[[ACC:.+]]: f32):
  // CHECK-NEXT: %[[U:.+]] = arith.extf %[[X]] : bf16 to f32
  // CHECK-NEXT: %[[V:.+]] = arith.extf %[[Y]] : bf16 to f32
  // CHECK-NEXT: arith.mulf %[[U]], %[[V]] : f32
  // CHECK-NEXT: arith.addf
  %nu = tensor.empty() : tensor<4x8xf32>
  %u = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x8xbf16>) outs(%nu : tensor<4x8xf32>) { ^bb0(%x: bf16, %o: f32): %eu = arith.extf %x : bf16 to f32 linalg.yield %eu : f32 } -> tensor<4x8xf32>
  %nv = tensor.empty() : tensor<8x6xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<8x6xbf16>) outs(%nv : tensor<8x6xf32>) { ^bb0(%x: bf16, %o: f32): %ev = arith.extf %x : bf16 to f32 linalg.yield %ev : f32 } -> tensor<8x6xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%u, %v : tensor<4x8xf32>, tensor<8x6xf32>) outs(%f : tensor<4x6xf32>) { ^bb0(%x: f32, %y: f32, %acc: f32): %m = arith.mulf %x, %y : f32 %s = arith.addf %acc, %m : f32 linalg.yield %s : f32 } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// A transpose and a reshape are made of the elements of 16 bits.
// CHECK-LABEL: func.func @moved(
func.func @moved(%a: tensor<8x4xbf16>, %b: tensor<48x1xbf16>) -> tensor<4x6xf32> {
  // CHECK: %[[A:.+]] = linalg.generic {{.+}} ins(%arg0 : tensor<8x4xbf16>) outs({{.+}} : tensor<4x8xbf16>)
  // CHECK: %[[C:.+]] = tensor.collapse_shape %arg1 {{.+}} : tensor<48x1xbf16> into tensor<48xbf16>
  // CHECK: %[[B:.+]] = tensor.expand_shape %[[C]] {{.+}} : tensor<48xbf16> into tensor<8x6xbf16>
  // CHECK: linalg.generic {{.+}} ins(%[[A]], %[[B]] : tensor<4x8xbf16>, tensor<8x6xbf16>)
  %nu = tensor.empty() : tensor<8x4xf32>
  %u = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x4xbf16>) outs(%nu : tensor<8x4xf32>) { ^bb0(%x: bf16, %o: f32): %eu = arith.extf %x : bf16 to f32 linalg.yield %eu : f32 } -> tensor<8x4xf32>
  %nv = tensor.empty() : tensor<48x1xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<48x1xbf16>) outs(%nv : tensor<48x1xf32>) { ^bb0(%x: bf16, %o: f32): %ev = arith.extf %x : bf16 to f32 linalg.yield %ev : f32 } -> tensor<48x1xf32>
  %et = tensor.empty() : tensor<4x8xf32>
  %ut = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%u : tensor<8x4xf32>) outs(%et : tensor<4x8xf32>) { ^bb0(%x: f32, %o: f32): linalg.yield %x : f32 } -> tensor<4x8xf32>
  %c = tensor.collapse_shape %v [[0, 1]] : tensor<48x1xf32> into tensor<48xf32>
  %w = tensor.expand_shape %c [[0, 1]] output_shape [8, 6] : tensor<48xf32> into tensor<8x6xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%ut, %w : tensor<4x8xf32>, tensor<8x6xf32>) outs(%f : tensor<4x6xf32>) { ^bb0(%x: f32, %y: f32, %acc: f32): %m = arith.mulf %x, %y : f32 %s = arith.addf %acc, %m : f32 linalg.yield %s : f32 } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// What one factor is multiplied by multiplies the sums.
// CHECK-LABEL: func.func @scaled(
func.func @scaled(%a: tensor<4x8xbf16>, %b: tensor<8x6xbf16>) -> tensor<4x6xf32> {
  // CHECK-DAG: %[[EIGHTH:.+]] = arith.constant 1.250000e-01 : f32
  // CHECK: %[[R:.+]] = linalg.generic {{.+}} ins(%arg0, %arg1 : tensor<4x8xbf16>, tensor<8x6xbf16>)
  // CHECK-NEXT: ^bb0(%[[X:.+]]: bf16, %[[Y:.+]]: bf16, %[[ACC:.+]]: f32):
  // CHECK-NEXT: %[[U:.+]] = arith.extf %[[X]] : bf16 to f32
  // CHECK-NEXT: %[[V:.+]] = arith.extf %[[Y]] : bf16 to f32
  // CHECK-NEXT: arith.mulf %[[U]], %[[V]] : f32
  // CHECK-NEXT: arith.addf
  // CHECK: linalg.generic {{.+}} ins(%[[R]] : tensor<4x6xf32>)
  // CHECK: arith.mulf %{{.+}}, %[[EIGHTH]] : f32
  %half = arith.constant 0.5 : f32
  %quarter = arith.constant 0.25 : f32
  %nu = tensor.empty() : tensor<4x8xf32>
  %u = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x8xbf16>) outs(%nu : tensor<4x8xf32>) { ^bb0(%x: bf16, %o: f32): %eu = arith.extf %x : bf16 to f32 linalg.yield %eu : f32 } -> tensor<4x8xf32>
  %nv = tensor.empty() : tensor<8x6xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<8x6xbf16>) outs(%nv : tensor<8x6xf32>) { ^bb0(%x: bf16, %o: f32): %ev = arith.extf %x : bf16 to f32 linalg.yield %ev : f32 } -> tensor<8x6xf32>
  %us = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%u : tensor<4x8xf32>) outs(%nu : tensor<4x8xf32>) { ^bb0(%x: f32, %o: f32): %y = arith.mulf %x, %half : f32 linalg.yield %y : f32 } -> tensor<4x8xf32>
  %vs = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<8x6xf32>) outs(%nv : tensor<8x6xf32>) { ^bb0(%x: f32, %o: f32): %y = arith.mulf %x, %quarter : f32 linalg.yield %y : f32 } -> tensor<8x6xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%us, %vs : tensor<4x8xf32>, tensor<8x6xf32>) outs(%f : tensor<4x6xf32>) { ^bb0(%x: f32, %y: f32, %acc: f32): %m = arith.mulf %x, %y : f32 %s = arith.addf %acc, %m : f32 linalg.yield %s : f32 } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
