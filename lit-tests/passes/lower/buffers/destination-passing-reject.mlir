// RUN: %xyntra-opt %s --destination-passing --split-input-file --verify-diagnostics

// expected-error @unknown {{a kernel module holds one func.func, not 2}}
func.func @first() {
  return
}
func.func @second() {
  return
}

// -----

// expected-error @unknown {{tensor<?xf32> is not a tensor of static shape}}
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

// expected-error @unknown {{i1 is not a tensor of static shape}}
func.func @scalar(%x: i1) {
  return
}

// -----

// expected-error @unknown {{tensor<2xi4> has an unsupported element type}}
func.func @element(%x: tensor<2xi4>) {
  return
}

// -----

// expected-error @unknown {{a kernel has exactly one block}}
func.func @blocks(%x: tensor<2xf32>) {
  cf.br ^next
^next:
  return
}

// -----

// expected-error @unknown {{result 0 cannot be written into argument 1: the types differ}}
func.func @inplace(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<2xf32> attributes {xyntra.inplace = [[0, 1]]} {
  return %x : tensor<2xf32>
}
