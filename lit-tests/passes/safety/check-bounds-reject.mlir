// RUN: %xyntra-opt %s --split-input-file --verify-diagnostics --check-bounds

#id = affine_map<(d0, d1) -> (d0, d1)>
#difference = affine_map<(d0, d1) -> (d0 - d1)>
func.func @difference(%x: tensor<1xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  // expected-error @below {{'linalg.generic' indexes operand 0 from -3 to 3 where it has 1 elements}}
  %0 = linalg.generic {indexing_maps = [#difference, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<1xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
#remainder = affine_map<(d0) -> (d0 mod 4)>
func.func @remainder(%x: tensor<1xf32>) -> tensor<5xf32> {
  %e = tensor.empty() : tensor<5xf32>
  // expected-error @below {{indexes operand 0 from 0 to 3 where it has 1 elements}}
  %0 = linalg.generic {indexing_maps = [#remainder, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<1xf32>) outs(%e : tensor<5xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

func.func @pads(%x: tensor<4xf32>, %c: f32) -> tensor<4xf32> {
  // expected-error @below {{'tensor.pad' pads by less than nothing}}
  %0 = tensor.pad %x low[2] high[-2] {
  ^bb0(%i: index):
    tensor.yield %c : f32
  } : tensor<4xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The verifier takes a tensor without elements for anything.
#id = affine_map<(d0) -> (d0)>
func.func @vacant(%x: tensor<9xf32>) -> tensor<0xf32> {
  %e = tensor.empty() : tensor<0xf32>
  // expected-error @below {{indexes operand 1 from 0 to 8 where it has 0 elements}}
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<9xf32>) outs(%e : tensor<0xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<0xf32>
  return %0 : tensor<0xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
#ceil = affine_map<(d0) -> (d0 ceildiv 3)>
func.func @ceil(%x: tensor<17xf32>) -> tensor<5xf32> {
  %e = tensor.empty() : tensor<5xf32>
  // expected-error @below {{indexes operand 0 by d0 ceildiv 3, which has no bounds}}
  %0 = linalg.generic {indexing_maps = [#ceil, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<17xf32>) outs(%e : tensor<5xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

func.func @mixed(%x: tensor<4xf32>, %y: tensor<4x5xf32>) -> (tensor<4xf32>, tensor<4x5xf32>) {
  // expected-error @below {{'linalg.generic' sums along loop 1, by which it indexes a result, too}}
  %0:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>,
      affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "reduction"]}
      outs(%x, %y : tensor<4xf32>, tensor<4x5xf32>) {
  ^bb0(%o: f32, %p: f32):
    %n = arith.addf %o, %p : f32
    linalg.yield %n, %n : f32, f32
  } -> (tensor<4xf32>, tensor<4x5xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4x5xf32>
}

// -----

// Code for a quotient or remainder beside a difference has read elsewhere.
#id = affine_map<(d0) -> (d0)>
#cancel = affine_map<(d0) -> (d0 mod 3 - d0)>
func.func @cancelled(%x: tensor<2xf32>) -> tensor<2xf32> {
  %e = tensor.empty() : tensor<2xf32>
  // expected-error @below {{: write it without a difference}}
  %0 = linalg.generic {indexing_maps = [#cancel, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<2xf32>) outs(%e : tensor<2xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
