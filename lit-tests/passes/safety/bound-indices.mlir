// RUN: %xyntra-opt %s --bound-indices | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @extract
// CHECK: [[AT:%.+]] = arith.index_cast
// CHECK: [[LOW:%.+]] = arith.minsi [[AT]], %c7
// CHECK: [[BOTH:%.+]] = arith.maxsi [[LOW]], %c0
// CHECK: tensor.extract %{{.+}}{{\[}}[[BOTH]]] : tensor<8xf32>
func.func @extract(%x: tensor<8xf32>, %n: tensor<4xi64>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%n : tensor<4xi64>) outs(%e : tensor<4xf32>) {
  ^bb0(%i: i64, %o: f32):
    %k = arith.index_cast %i : i64 to index
    %v = tensor.extract %x[%k] : tensor<8xf32>
    linalg.yield %v : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Only what is not known: the loop starts at 0, and goes on too long.
// CHECK-LABEL: func.func @insert
// CHECK: [[AT:%.+]] = arith.minsi %{{.+}}, %c7
// CHECK-NOT: arith.maxsi
// CHECK: tensor.insert %{{.+}} into %{{.+}}{{\[}}[[AT]]]
func.func @insert(%x: tensor<8xf32>, %v: f32) -> tensor<8xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %nine = arith.constant 9 : index
  %0 = scf.for %i = %zero to %nine step %one iter_args(%t = %x) -> (tensor<8xf32>) {
    %u = tensor.insert %v into %t[%i] : tensor<8xf32>
    scf.yield %u : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// A slice of two elements begins at 6 at most.
// CHECK-LABEL: func.func @slice
// CHECK: [[LOW:%.+]] = arith.minsi %{{.+}}, %c6
// CHECK: [[BOTH:%.+]] = arith.maxsi [[LOW]], %c0
// CHECK: tensor.extract_slice %{{.+}}{{\[}}[[BOTH]]] [2] [1]
func.func @slice(%x: tensor<8xf32>, %i: index) -> tensor<2xf32> {
  %0 = tensor.extract_slice %x[%i] [2] [1] : tensor<8xf32> to tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @vacant
// CHECK-NOT: tensor.extract
// CHECK: [[ZERO:%.+]] = arith.constant 0.0{{.*}} : f32
// CHECK-NOT: tensor.insert
// CHECK: return [[ZERO]], %{{.+}} : f32, tensor<0xf32>
func.func @vacant(%x: tensor<0xf32>, %i: index) -> (f32, tensor<0xf32>) {
  %0 = tensor.extract %x[%i] : tensor<0xf32>
  %1 = tensor.insert %0 into %x[%i] : tensor<0xf32>
  return %0, %1 : f32, tensor<0xf32>
}

// A kernel that only moved data computes now.
// CHECK-LABEL: func.func private @data_k
// CHECK-SAME: kind = "elementwise"
func.func private @data_k(%x: tensor<8xf32>, %i: index) -> tensor<2xf32>
    attributes {xyntra.kernel = #xyntra.kernel<{kind = "data"}>} {
  %0 = tensor.extract_slice %x[%i] [2] [1] : tensor<8xf32> to tensor<2xf32>
  return %0 : tensor<2xf32>
}
