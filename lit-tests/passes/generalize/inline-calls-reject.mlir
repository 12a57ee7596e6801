// RUN: %xyntra-opt %s --inline-calls --split-input-file --verify-diagnostics

// expected-error@unknown {{function 'a' calls itself}}
func.func @a(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @b(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @b(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @a(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error@unknown {{a call of function 'branches', which has branches, is not supported}}
func.func private @branches(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  cf.cond_br %c, ^a, ^b
^a:
  return %x : tensor<4xf32>
^b:
  %0 = arith.negf %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %0 = call @branches(%x, %c) : (tensor<4xf32>, i1) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A function without a body is left alone.
func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @elsewhere(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
