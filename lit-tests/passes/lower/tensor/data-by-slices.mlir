// RUN: %xyntra-opt %s --data-by-slices | FileCheck %s

// The parts are written into one tensor, where each belongs; an empty part is not written.
// CHECK-LABEL: func.func @concat(
// CHECK-SAME: [[X:%[a-z0-9]+]]: tensor<2x3xf32>, [[EMPTY:%[a-z0-9]+]]: tensor<2x0xf32>, [[Y:%[a-z0-9]+]]: tensor<2x5xf32>)
// CHECK: [[WHOLE:%.+]] = tensor.empty() : tensor<2x8xf32>
// CHECK: [[FIRST:%.+]] = tensor.insert_slice [[X]] into [[WHOLE]][0, 0] [2, 3] [1, 1]
// CHECK-NEXT: [[BOTH:%.+]] = tensor.insert_slice [[Y]] into [[FIRST]][0, 3] [2, 5] [1, 1]
// CHECK-NEXT: return [[BOTH]]
func.func @concat(%x: tensor<2x3xf32>, %empty: tensor<2x0xf32>, %y: tensor<2x5xf32>) -> tensor<2x8xf32> {
  %0 = tensor.concat dim(1) %x, %empty, %y : (tensor<2x3xf32>, tensor<2x0xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @pad(
// CHECK-SAME: [[X:%[a-z0-9]+]]: tensor<4xf32>, [[C:%[a-z0-9]+]]: f32)
// CHECK: [[FILLED:%.+]] = linalg.generic
// CHECK: linalg.yield [[C]] : f32
// CHECK: [[RESULT:%.+]] = tensor.insert_slice [[X]] into [[FILLED]][1] [4] [1] : tensor<4xf32> into tensor<7xf32>
// CHECK-NEXT: return [[RESULT]]
func.func @pad(%x: tensor<4xf32>, %c: f32) -> tensor<7xf32> {
  %0 = tensor.pad %x low[1] high[2] {
  ^bb0(%i: index):
    tensor.yield %c : f32
  } : tensor<4xf32> to tensor<7xf32>
  return %0 : tensor<7xf32>
}

// CHECK-LABEL: func.func @splat(
// CHECK: [[C:%.+]] = arith.constant 2.500000e+00 : f32
// CHECK: [[RESULT:%.+]] = linalg.generic
// CHECK: linalg.yield [[C]] : f32
// CHECK: return [[RESULT]] : tensor<1024xf32>
func.func @splat() -> tensor<1024xf32> {
  %0 = arith.constant dense<2.5> : tensor<1024xf32>
  return %0 : tensor<1024xf32>
}
