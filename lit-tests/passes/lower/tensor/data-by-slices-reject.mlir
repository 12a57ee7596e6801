// RUN: %xyntra-opt %s --data-by-slices | FileCheck %s

// Parts whose size is not known here, and paddings that cut something off.
// CHECK-LABEL: func.func @no_slices(
// CHECK-NEXT: tensor.concat
// CHECK-NEXT: tensor.pad {{%.+}} low[2] high[2]
// CHECK: tensor.pad {{%.+}} low[-2] high[2]
// CHECK: return
func.func @no_slices(%x: tensor<?xf32>, %y: tensor<8xf32>, %c: f32) -> (tensor<12xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = tensor.concat dim(0) %x, %y : (tensor<?xf32>, tensor<8xf32>) -> tensor<12xf32>
  %1 = tensor.pad %x low[2] high[2] {
  ^bb0(%i: index):
    tensor.yield %c : f32
  } : tensor<?xf32> to tensor<8xf32>
  %2 = tensor.pad %y low[-2] high[2] {
  ^bb0(%i: index):
    tensor.yield %c : f32
  } : tensor<8xf32> to tensor<8xf32>
  return %0, %1, %2 : tensor<12xf32>, tensor<8xf32>, tensor<8xf32>
}

// A padding whose value depends on the place.
// CHECK-LABEL: func.func @another_value_everywhere(
// CHECK-NEXT: tensor.pad
func.func @another_value_everywhere(%x: tensor<4xindex>) -> tensor<6xindex> {
  %0 = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %i : index
  } : tensor<4xindex> to tensor<6xindex>
  return %0 : tensor<6xindex>
}

// CHECK-LABEL: func.func @constants(
// CHECK-NEXT: arith.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: arith.constant 1.000000e+00 : f32
// CHECK-NEXT: return
func.func @constants() -> (tensor<2xf32>, f32) {
  %0 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = arith.constant 1.0 : f32
  return %0, %1 : tensor<2xf32>, f32
}
