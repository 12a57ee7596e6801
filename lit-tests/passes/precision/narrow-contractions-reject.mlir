// RUN: %xyntra-opt %s --narrow-contractions | FileCheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>

// One factor is of f32.
// CHECK-LABEL: func.func @one_factor(
// CHECK: "reduction"]} ins(%{{.+}}, %arg1 : tensor<4x8xf32>, tensor<8x6xf32>)
func.func @one_factor(%a: tensor<4x8xbf16>, %b: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %nu = tensor.empty() : tensor<4x8xf32>
  %u = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x8xbf16>) outs(%nu : tensor<4x8xf32>) { ^bb0(%x: bf16, %o: f32): %eu = arith.extf %x : bf16 to f32 linalg.yield %eu : f32 } -> tensor<4x8xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%u, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%f : tensor<4x6xf32>) { ^bb0(%x: f32, %y: f32, %acc: f32): %m = arith.mulf %x, %y : f32 %s = arith.addf %acc, %m : f32 linalg.yield %s : f32 } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// No matrix unit takes factors of two types.
// CHECK-LABEL: func.func @two_types(
// CHECK: "reduction"]} ins({{.+}} : tensor<4x8xf32>, tensor<8x6xf32>)
func.func @two_types(%a: tensor<4x8xbf16>, %b: tensor<8x6xf16>) -> tensor<4x6xf32> {
  %nu = tensor.empty() : tensor<4x8xf32>
  %u = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x8xbf16>) outs(%nu : tensor<4x8xf32>) { ^bb0(%x: bf16, %o: f32): %eu = arith.extf %x : bf16 to f32 linalg.yield %eu : f32 } -> tensor<4x8xf32>
  %nv = tensor.empty() : tensor<8x6xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<8x6xf16>) outs(%nv : tensor<8x6xf32>) { ^bb0(%x: f16, %o: f32): %ev = arith.extf %x : f16 to f32 linalg.yield %ev : f32 } -> tensor<8x6xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%u, %v : tensor<4x8xf32>, tensor<8x6xf32>) outs(%f : tensor<4x6xf32>) { ^bb0(%x: f32, %y: f32, %acc: f32): %m = arith.mulf %x, %y : f32 %s = arith.addf %acc, %m : f32 linalg.yield %s : f32 } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// What the sum begins with would be multiplied, too.
// CHECK-LABEL: func.func @scaled_and_added(
// CHECK: "reduction"]} ins({{.+}} : tensor<4x8xf32>, tensor<8x6xf32>)
func.func @scaled_and_added(%a: tensor<4x8xbf16>, %b: tensor<8x6xbf16>, %c: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %half = arith.constant 0.5 : f32
  %nu = tensor.empty() : tensor<4x8xf32>
  %u = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x8xbf16>) outs(%nu : tensor<4x8xf32>) { ^bb0(%x: bf16, %o: f32): %eu = arith.extf %x : bf16 to f32 linalg.yield %eu : f32 } -> tensor<4x8xf32>
  %nv = tensor.empty() : tensor<8x6xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<8x6xbf16>) outs(%nv : tensor<8x6xf32>) { ^bb0(%x: bf16, %o: f32): %ev = arith.extf %x : bf16 to f32 linalg.yield %ev : f32 } -> tensor<8x6xf32>
  %us = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%u : tensor<4x8xf32>) outs(%nu : tensor<4x8xf32>) { ^bb0(%x: f32, %o: f32): %y = arith.mulf %x, %half : f32 linalg.yield %y : f32 } -> tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%us, %v : tensor<4x8xf32>, tensor<8x6xf32>) outs(%c : tensor<4x6xf32>) { ^bb0(%x: f32, %y: f32, %acc: f32): %m = arith.mulf %x, %y : f32 %s = arith.addf %acc, %m : f32 linalg.yield %s : f32 } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// A factor that would take sums out of the range of f32.
// CHECK-LABEL: func.func @far_out(
// CHECK: "reduction"]} ins({{.+}} : tensor<4x8xf32>, tensor<8x6xf32>)
func.func @far_out(%a: tensor<4x8xbf16>, %b: tensor<8x6xbf16>) -> tensor<4x6xf32> {
  %low = arith.constant 1.0e-30 : f32
  %nu = tensor.empty() : tensor<4x8xf32>
  %u = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x8xbf16>) outs(%nu : tensor<4x8xf32>) { ^bb0(%x: bf16, %o: f32): %eu = arith.extf %x : bf16 to f32 linalg.yield %eu : f32 } -> tensor<4x8xf32>
  %nv = tensor.empty() : tensor<8x6xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<8x6xbf16>) outs(%nv : tensor<8x6xf32>) { ^bb0(%x: bf16, %o: f32): %ev = arith.extf %x : bf16 to f32 linalg.yield %ev : f32 } -> tensor<8x6xf32>
  %us = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%u : tensor<4x8xf32>) outs(%nu : tensor<4x8xf32>) { ^bb0(%x: f32, %o: f32): %y = arith.mulf %x, %low : f32 linalg.yield %y : f32 } -> tensor<4x8xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%us, %v : tensor<4x8xf32>, tensor<8x6xf32>) outs(%f : tensor<4x6xf32>) { ^bb0(%x: f32, %y: f32, %acc: f32): %m = arith.mulf %x, %y : f32 %s = arith.addf %acc, %m : f32 linalg.yield %s : f32 } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
