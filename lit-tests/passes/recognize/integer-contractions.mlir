// RUN: %xyntra-opt %s --integer-contractions --canonicalize | FileCheck %s

#id = affine_map<(m, n) -> (m, n)>
#column = affine_map<(m, n) -> (n)>
#none = affine_map<(m, n) -> ()>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// The stored integers are multiplied. The zero point of the rows takes away so many times the sums of the columns.
// CHECK-LABEL: func.func @product(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<4x8xi8>, %[[B:[a-z0-9]+]]: tensor<8x6xi8>
// CHECK: %[[P:.+]] = linalg.generic {{.+}} ins(%[[A]], %[[B]] : tensor<4x8xi8>, tensor<8x6xi8>) outs({{.+}} : tensor<4x6xi32>)
// CHECK: arith.extui
// CHECK: arith.extsi
// CHECK: arith.muli
// CHECK: arith.addi
// CHECK: %[[SUMS:.+]] = linalg.generic {{.+}} ins(%[[B]] : tensor<8x6xi8>) outs({{.+}} : tensor<6xi32>)
// CHECK: %[[TIMES:.+]] = linalg.generic {{.+}} ins(%[[SUMS]] : tensor<6xi32>)
// CHECK: %[[R:.+]] = linalg.generic {{.+}} ins(%[[P]], %[[TIMES]], %{{.+}} : tensor<4x6xi32>, tensor<6xi32>, tensor<6xf32>)
// CHECK: arith.subi
// CHECK: arith.sitofp
// CHECK: arith.mulf
// CHECK: return %[[R]]
func.func @product(%qa: tensor<4x8xi8>, %qb: tensor<8x6xi8> {xyntra.parameter = "b"}, %s: tensor<6xf32> {xyntra.parameter = "s"}) -> tensor<4x6xf32> {
  %c3 = arith.constant 3 : i32
  %half = arith.constant 0.5 : f32
  %zero = arith.constant 0.0 : f32
  %ea = tensor.empty() : tensor<4x8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%qa : tensor<4x8xi8>) outs(%ea : tensor<4x8xf32>) {
  ^bb0(%x: i8, %o: f32):
    %w = arith.extui %x : i8 to i32
    %d = arith.subi %w, %c3 : i32
    %f = arith.sitofp %d : i32 to f32
    %r = arith.mulf %f, %half : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %eb = tensor.empty() : tensor<8x6xf32>
  %b = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%qb, %s : tensor<8x6xi8>, tensor<6xf32>) outs(%eb : tensor<8x6xf32>) {
  ^bb0(%x: i8, %t: f32, %o: f32):
    %f = arith.sitofp %x : i8 to f32
    %r = arith.mulf %f, %t : f32
    linalg.yield %r : f32
  } -> tensor<8x6xf32>
  %ec = tensor.empty() : tensor<4x6xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%ec : tensor<4x6xf32>) -> tensor<4x6xf32>
  %c = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%fill : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %t = arith.addf %acc, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x6xf32>
  return %c : tensor<4x6xf32>
}

// Zero points that are not known subtract themselves first; padding with zeros follows.
// CHECK-LABEL: func.func @unknown_zero_point(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<4x6xi8>, %[[Z:[a-z0-9]+]]: tensor<i8>, %[[B:[a-z0-9]+]]: tensor<8x6xi8>
// CHECK: %[[D:.+]] = linalg.generic {{.+}} ins(%[[A]], %[[Z]] : tensor<4x6xi8>, tensor<i8>) outs({{.+}} : tensor<4x6xi16>)
// CHECK: arith.subi {{.+}} : i16
// CHECK: %[[PAD:.+]] = tensor.pad %[[D]]
// CHECK: tensor.yield %c0_i16
// CHECK: linalg.generic {{.+}} ins(%[[PAD]], %[[B]] : tensor<4x8xi16>, tensor<8x6xi8>) outs({{.+}} : tensor<4x6xi32>)
// CHECK: arith.sitofp
func.func @unknown_zero_point(%qa: tensor<4x6xi8>, %z: tensor<i8>, %qb: tensor<8x6xi8>) -> tensor<4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %ea = tensor.empty() : tensor<4x6xf32>
  %a = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]} ins(%qa, %z : tensor<4x6xi8>, tensor<i8>) outs(%ea : tensor<4x6xf32>) {
  ^bb0(%x: i8, %y: i8, %o: f32):
    %w = arith.extui %x : i8 to i32
    %v = arith.extui %y : i8 to i32
    %d = arith.subi %w, %v : i32
    %f = arith.sitofp %d : i32 to f32
    linalg.yield %f : f32
  } -> tensor<4x6xf32>
  %p = tensor.pad %a low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<4x6xf32> to tensor<4x8xf32>
  %eb = tensor.empty() : tensor<8x6xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%qb : tensor<8x6xi8>) outs(%eb : tensor<8x6xf32>) {
  ^bb0(%x: i8, %o: f32):
    %f = arith.uitofp %x : i8 to f32
    linalg.yield %f : f32
  } -> tensor<8x6xf32>
  %ec = tensor.empty() : tensor<4x6xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%ec : tensor<4x6xf32>) -> tensor<4x6xf32>
  %c = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%fill : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %t = arith.addf %acc, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x6xf32>
  return %c : tensor<4x6xf32>
}
