// RUN: %xyntra-opt %s --integer-contractions | FileCheck %s

#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// A scale that varies along the sum cannot be taken out of it.
// CHECK-LABEL: func.func @scale_along_the_sum(
// CHECK-NOT: arith.muli
// CHECK: arith.mulf %{{.+}}, %{{.+}} : f32
// CHECK: return
func.func @scale_along_the_sum(%qa: tensor<4x8xi8>, %qb: tensor<8x6xi8>, %s: tensor<8xf32>) -> tensor<4x6xf32> {
  %start = arith.constant 0.0 : f32
  %ea = tensor.empty() : tensor<4x8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%qa : tensor<4x8xi8>) outs(%ea : tensor<4x8xf32>) {
  ^bb0(%x: i8, %o: f32):
    %f = arith.sitofp %x : i8 to f32
    linalg.yield %f : f32
  } -> tensor<4x8xf32>
  %eb = tensor.empty() : tensor<8x6xf32>
  %b = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%qb, %s : tensor<8x6xi8>, tensor<8xf32>) outs(%eb : tensor<8x6xf32>) {
  ^bb0(%x: i8, %t: f32, %o: f32):
    %f = arith.sitofp %x : i8 to f32
    %r = arith.mulf %f, %t : f32
    linalg.yield %r : f32
  } -> tensor<8x6xf32>
  %ec = tensor.empty() : tensor<4x6xf32>
  %fill = linalg.fill ins(%start : f32) outs(%ec : tensor<4x6xf32>) -> tensor<4x6xf32>
  %c = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%fill : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %t = arith.addf %acc, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x6xf32>
  return %c : tensor<4x6xf32>
}

// Products of 16 bits may not fit.
// CHECK-LABEL: func.func @words(
// CHECK-NOT: arith.muli
// CHECK: arith.mulf %{{.+}}, %{{.+}} : f32
// CHECK: return
func.func @words(%qa: tensor<4x8xi16>, %qb: tensor<8x6xi8>, %s: tensor<8xf32>) -> tensor<4x6xf32> {
  %start = arith.constant 0.0 : f32
  %ea = tensor.empty() : tensor<4x8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%qa : tensor<4x8xi16>) outs(%ea : tensor<4x8xf32>) {
  ^bb0(%x: i16, %o: f32):
    %f = arith.sitofp %x : i16 to f32
    linalg.yield %f : f32
  } -> tensor<4x8xf32>
  %eb = tensor.empty() : tensor<8x6xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%qb : tensor<8x6xi8>) outs(%eb : tensor<8x6xf32>) {
  ^bb0(%x: i8, %o: f32):
    %f = arith.sitofp %x : i8 to f32
    linalg.yield %f : f32
  } -> tensor<8x6xf32>
  %ec = tensor.empty() : tensor<4x6xf32>
  %fill = linalg.fill ins(%start : f32) outs(%ec : tensor<4x6xf32>) -> tensor<4x6xf32>
  %c = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%fill : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %t = arith.addf %acc, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x6xf32>
  return %c : tensor<4x6xf32>
}

// So many products may not fit 32 bits.
// CHECK-LABEL: func.func @long_sum(
// CHECK-NOT: arith.muli
// CHECK: arith.mulf %{{.+}}, %{{.+}} : f32
// CHECK: return
func.func @long_sum(%qa: tensor<4x33026xi8>, %qb: tensor<33026x6xi8>, %s: tensor<33026xf32>) -> tensor<4x6xf32> {
  %start = arith.constant 0.0 : f32
  %ea = tensor.empty() : tensor<4x33026xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%qa : tensor<4x33026xi8>) outs(%ea : tensor<4x33026xf32>) {
  ^bb0(%x: i8, %o: f32):
    %f = arith.sitofp %x : i8 to f32
    linalg.yield %f : f32
  } -> tensor<4x33026xf32>
  %eb = tensor.empty() : tensor<33026x6xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%qb : tensor<33026x6xi8>) outs(%eb : tensor<33026x6xf32>) {
  ^bb0(%x: i8, %o: f32):
    %f = arith.sitofp %x : i8 to f32
    linalg.yield %f : f32
  } -> tensor<33026x6xf32>
  %ec = tensor.empty() : tensor<4x6xf32>
  %fill = linalg.fill ins(%start : f32) outs(%ec : tensor<4x6xf32>) -> tensor<4x6xf32>
  %c = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x33026xf32>, tensor<33026x6xf32>) outs(%fill : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %t = arith.addf %acc, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x6xf32>
  return %c : tensor<4x6xf32>
}

// One factor holds no integers.
// CHECK-LABEL: func.func @one_factor(
// CHECK-NOT: arith.muli
// CHECK: arith.mulf %{{.+}}, %{{.+}} : f32
// CHECK: return
func.func @one_factor(%qa: tensor<4x8xf32>, %qb: tensor<8x6xi8>, %s: tensor<8xf32>) -> tensor<4x6xf32> {
  %start = arith.constant 0.0 : f32
  %ea = tensor.empty() : tensor<4x8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%qa : tensor<4x8xf32>) outs(%ea : tensor<4x8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %f = arith.addf %x, %x : f32
    linalg.yield %f : f32
  } -> tensor<4x8xf32>
  %eb = tensor.empty() : tensor<8x6xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%qb : tensor<8x6xi8>) outs(%eb : tensor<8x6xf32>) {
  ^bb0(%x: i8, %o: f32):
    %f = arith.sitofp %x : i8 to f32
    linalg.yield %f : f32
  } -> tensor<8x6xf32>
  %ec = tensor.empty() : tensor<4x6xf32>
  %fill = linalg.fill ins(%start : f32) outs(%ec : tensor<4x6xf32>) -> tensor<4x6xf32>
  %c = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%fill : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %t = arith.addf %acc, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x6xf32>
  return %c : tensor<4x6xf32>
}

// Sums that start from another number.
// CHECK-LABEL: func.func @start(
// CHECK-NOT: arith.muli
// CHECK: arith.mulf %{{.+}}, %{{.+}} : f32
// CHECK: return
func.func @start(%qa: tensor<4x8xi8>, %qb: tensor<8x6xi8>, %s: tensor<8xf32>) -> tensor<4x6xf32> {
  %start = arith.constant 1.0 : f32
  %ea = tensor.empty() : tensor<4x8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%qa : tensor<4x8xi8>) outs(%ea : tensor<4x8xf32>) {
  ^bb0(%x: i8, %o: f32):
    %f = arith.sitofp %x : i8 to f32
    linalg.yield %f : f32
  } -> tensor<4x8xf32>
  %eb = tensor.empty() : tensor<8x6xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%qb : tensor<8x6xi8>) outs(%eb : tensor<8x6xf32>) {
  ^bb0(%x: i8, %o: f32):
    %f = arith.sitofp %x : i8 to f32
    linalg.yield %f : f32
  } -> tensor<8x6xf32>
  %ec = tensor.empty() : tensor<4x6xf32>
  %fill = linalg.fill ins(%start : f32) outs(%ec : tensor<4x6xf32>) -> tensor<4x6xf32>
  %c = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%fill : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %t = arith.addf %acc, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x6xf32>
  return %c : tensor<4x6xf32>
}

// An infinite scale makes NaN of zeros.
// CHECK-LABEL: func.func @infinite_scale(
// CHECK-NOT: arith.muli
// CHECK: arith.mulf %{{.+}}, %{{.+}} : f32
// CHECK: return
func.func @infinite_scale(%qa: tensor<4x8xi8>, %qb: tensor<8x6xi8>, %s: tensor<8xf32>) -> tensor<4x6xf32> {
  %start = arith.constant 0.0 : f32
  %ea = tensor.empty() : tensor<4x8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%qa : tensor<4x8xi8>) outs(%ea : tensor<4x8xf32>) {
  ^bb0(%x: i8, %o: f32):
    %i = arith.constant 0x7F800000 : f32
    %f = arith.sitofp %x : i8 to f32
    %r = arith.mulf %f, %i : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %eb = tensor.empty() : tensor<8x6xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%qb : tensor<8x6xi8>) outs(%eb : tensor<8x6xf32>) {
  ^bb0(%x: i8, %o: f32):
    %f = arith.sitofp %x : i8 to f32
    linalg.yield %f : f32
  } -> tensor<8x6xf32>
  %ec = tensor.empty() : tensor<4x6xf32>
  %fill = linalg.fill ins(%start : f32) outs(%ec : tensor<4x6xf32>) -> tensor<4x6xf32>
  %c = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%fill : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %t = arith.addf %acc, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x6xf32>
  return %c : tensor<4x6xf32>
}
