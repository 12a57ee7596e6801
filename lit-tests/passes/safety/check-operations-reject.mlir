// RUN: %xyntra-opt %s --split-input-file --verify-diagnostics --check-operations=max-tensor-bytes=1000

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{operation 'memref.alloc' is not supported in a model}}
  %m = memref.alloc() : memref<4xf32>
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{'func.func' has a value of type tensor<?xf32>, which is no plain tensor of static shape}}
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{whose elements are not supported}}
  %e = tensor.empty() : tensor<4xindex>
  return %x : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = arith.constant 1 : i32
  // expected-error @below {{'arith.trunci' has a value of type i7, which is neither a tensor nor a scalar}}
  %f = arith.trunci %e : i32 to i7
  return %x : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{the model has a tensor of 4,000 bytes}}
  %e = tensor.empty() : tensor<1000xf32>
  return %x : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %c: index) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  // expected-error @below {{loops have a constant step of 1 or more}}
  scf.for %i = %zero to %c step %c {
  }
  return %x : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %c: index) -> tensor<4xf32> {
  %one = arith.constant 1 : index
  // expected-error @below {{loops over unsigned bounds are not supported}}
  scf.for unsigned %i = %c to %c step %one {
  }
  return %x : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  // expected-error @below {{'tensor.extract_slice' has computed sizes}}
  %s = tensor.extract_slice %x[0] [2] [%n] : tensor<4xf32> to tensor<2xf32>
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{attribute 'passthrough' of functions is not supported}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {passthrough = ["naked"]} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{attribute 'llvm.noalias' of values is not supported}}
func.func @main(%x: tensor<4xf32> {llvm.noalias}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{attribute 'llvm.align' of 'tensor.empty' is not supported}}
  %e = tensor.empty() {llvm.align = 4 : i64} : tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{functions have names of letters, digits and _}}
func.func @"a b"(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{names of kernels begin with a kind, as in 'row_memcpy'}}
func.func @memcpy(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {xyntra.kernel = #xyntra.kernel<{kind = "row"}>} {
  return %x : tensor<4xf32>
}

// -----

func.func @row_a(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {xyntra.kernel = #xyntra.kernel<{kind = "row"}>} {
  // expected-error @below {{only the function that is compiled calls kernels}}
  %y = call @row_a(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'arith.addf' on tensors is not supported: use linalg}}
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{constant tensors are dense}}
  %y = arith.constant sparse<[[0]], [1.0]> : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{constants are numbers or tensors}}
  %y = arith.constant dense<1.0> : vector<4xf32>
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{'func.func' has branches, which are not supported}}
func.func @row_k(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {xyntra.kernel = #xyntra.kernel<{kind = "row"}>} {
  cf.br ^next
^next:
  return %x : tensor<4xf32>
}
