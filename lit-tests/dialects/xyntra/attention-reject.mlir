// RUN: %xyntra-opt %s --split-input-file --verify-diagnostics

func.func @element_types(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf16>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{expects the key to have the query's element type f32, got f16}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf16>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @integers(%a0: tensor<1x2x3x5xi32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{expects the query to be a ranked tensor of f16/bf16/f32/f64}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xi32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @dynamic(%a0: tensor<1x?x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{expects the query to have a static shape, got tensor<1x?x3x5xf32>}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x?x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @mask_of_floats(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>, %a3: tensor<3x4xf32>) {
  // expected-error @below {{expects the mask to be a ranked tensor of i1, got tensor<3x4xf32>}}
  %r = "xyntra.attention"(%a0, %a1, %a2, %a3) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (s, t)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>, tensor<3x4xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @bias_of_booleans(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>, %a3: tensor<3x4xi1>) {
  // expected-error @below {{expects the bias to be a ranked tensor of f16/bf16/f32/f64, got tensor<3x4xi1>}}
  %r = "xyntra.attention"(%a0, %a1, %a2, %a3) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (s, t)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>, tensor<3x4xi1>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @bias_of_another_width(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>, %a3: tensor<3x4xf64>) {
  // expected-error @below {{expects the bias to be of f32 or f32, got f64}}
  %r = "xyntra.attention"(%a0, %a1, %a2, %a3) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (s, t)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>, tensor<3x4xf64>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @sizes_missing(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{expects 'sizes' to be six positive i64, got array<i64: 1, 2, 3>}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @no_keys(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{expects 'sizes' to be six positive i64}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 0, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @map_missing(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{expects 4 'indexing_maps', got 3}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @map_of_another_rank(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{expects the map of the key to go from 6 loops to tensor<1x2x4x5xf32>}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @outside(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{reads outside of the key, tensor<1x2x4x5xf32>}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d + 1)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @key_by_query(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{expects the key not to depend on loop s}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @divided(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{expects loop t not to be divided in the key}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t floordiv 2, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @not_followed(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{cannot follow the map of the query}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, (d * 2) floordiv 3)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @written_twice(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{expects every element of the result to be written once}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, 0, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @written_with_gaps(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{expects every element of the result to be written once}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x7xf32>
  return
}

// -----

func.func @scale_of_another_width(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{expects 'scale' to be an f32 attribute, got 1.250000e-01 : f64}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f64, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @scale_infinite(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{expects 'scale' to be finite, got inf}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0x7F800000 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @fill_nan(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{expects 'fill' to be finite or -inf, got nan}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>, fill = 0x7FC00000 : f32,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @softcap_negative(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{expects 'softcap' to be finite and above 0, got -1.0}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>, softcap = -1.0 : f32,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @masked_rows(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{expects 'masked_rows' to be one of nan, zero, zero_if_empty, got "one"}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = false, masked_rows = "one", sizes = array<i64: 1, 2, 3, 4, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @fill_last_number(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{expects 'fill_last' to be a unit attribute, got 1 : i64}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>, fill_last = 1,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @causal_number(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{expects 'causal' to be true or false, got 1 : i64}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = 1, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @offset_of_another_width(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{expects 'causal_offset' to be an i64 attribute, got 1 : i32}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = true, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>, causal_offset = 1 : i32,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @offset_without_causal(%a0: tensor<1x2x3x5xf32>, %a1: tensor<1x2x4x5xf32>, %a2: tensor<1x2x4x6xf32>) {
  // expected-error @below {{has a 'causal_offset' but is not causal}}
  %r = "xyntra.attention"(%a0, %a1, %a2) {
    scale = 0.125 : f32, causal = false, masked_rows = "nan", sizes = array<i64: 1, 2, 3, 4, 5, 6>, causal_offset = 1 : i64,
    indexing_maps = [affine_map<(b, h, s, t, d, e) -> (b, h, s, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, d)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, t, e)>,
      affine_map<(b, h, s, t, d, e) -> (b, h, s, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x3x5xf32>, tensor<1x2x4x5xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x3x6xf32>
  return
}
