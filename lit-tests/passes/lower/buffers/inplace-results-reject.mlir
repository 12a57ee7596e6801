// RUN: %xyntra-opt %s --inplace-results --split-input-file --verify-diagnostics

// expected-error @unknown {{every result of a bufferized kernel has an argument of its shape in xyntra.inplace}}
func.func @not_in_place(%x: memref<4xf32>) -> memref<4xf32> {
  return %x : memref<4xf32>
}

// -----

// expected-error @unknown {{every result of a bufferized kernel has an argument of its shape in xyntra.inplace}}
func.func @another_shape(%x: memref<4xf32>, %y: memref<2xf32>) -> memref<4xf32> attributes {xyntra.inplace = [[0, 1]]} {
  return %x : memref<4xf32>
}

// -----

// expected-error @unknown {{every result of a bufferized kernel has an argument of its shape in xyntra.inplace}}
func.func @no_such_argument(%x: memref<4xf32>) -> memref<4xf32> attributes {xyntra.inplace = [[0, 7]]} {
  return %x : memref<4xf32>
}

// -----

// expected-error @unknown {{every result of a bufferized kernel has an argument of its shape in xyntra.inplace}}
func.func @not_bufferized(%x: tensor<4xf32>) -> tensor<4xf32> attributes {xyntra.inplace = [[0, 0]]} {
  return %x : tensor<4xf32>
}
