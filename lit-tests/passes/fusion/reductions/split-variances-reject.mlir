// RUN: %xyntra-opt %s --split-variances | FileCheck %s

#x = affine_map<(d0, d1) -> (d0, d1)>
#c = affine_map<(d0, d1) -> (d1)>
#i = affine_map<(d0) -> (d0)>

// One launch holds columns of 1024 elements.
// CHECK-LABEL: func.func @short_columns(
// CHECK-COUNT-2: iterator_types = ["reduction", "parallel"]
func.func @short_columns(%x: tensor<1024x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 1.024000e+03 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#x, #c], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<1024x64xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %mean = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%sum : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.divf %p, %n : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %squares = linalg.generic {indexing_maps = [#x, #c, #c], iterator_types = ["reduction", "parallel"]}
      ins(%x, %mean : tensor<1024x64xf32>, tensor<64xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %d = arith.subf %p, %q : f32
    %s = arith.mulf %d, %d : f32
    %a = arith.addf %o, %s : f32
    linalg.yield %a : f32
  } -> tensor<64xf32>
  return %mean, %squares : tensor<64xf32>, tensor<64xf32>
}

// A prime number of elements has no equal parts.
// CHECK-LABEL: func.func @prime(
// CHECK-COUNT-2: iterator_types = ["reduction", "parallel"]
func.func @prime(%x: tensor<8191x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 8.191000e+03 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#x, #c], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8191x64xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %mean = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%sum : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.divf %p, %n : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %squares = linalg.generic {indexing_maps = [#x, #c, #c], iterator_types = ["reduction", "parallel"]}
      ins(%x, %mean : tensor<8191x64xf32>, tensor<64xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %d = arith.subf %p, %q : f32
    %s = arith.mulf %d, %d : f32
    %a = arith.addf %o, %s : f32
    linalg.yield %a : f32
  } -> tensor<64xf32>
  return %mean, %squares : tensor<64xf32>, tensor<64xf32>
}

// What is subtracted is no mean.
// CHECK-LABEL: func.func @no_mean(
// CHECK-COUNT-2: iterator_types = ["reduction", "parallel"]
func.func @no_mean(%x: tensor<8192x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 8.191000e+03 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#x, #c], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8192x64xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %mean = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%sum : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.divf %p, %n : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %squares = linalg.generic {indexing_maps = [#x, #c, #c], iterator_types = ["reduction", "parallel"]}
      ins(%x, %mean : tensor<8192x64xf32>, tensor<64xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %d = arith.subf %p, %q : f32
    %s = arith.mulf %d, %d : f32
    %a = arith.addf %o, %s : f32
    linalg.yield %a : f32
  } -> tensor<64xf32>
  return %mean, %squares : tensor<64xf32>, tensor<64xf32>
}

// The sum is not of squares.
// CHECK-LABEL: func.func @no_squares(
// CHECK-COUNT-2: iterator_types = ["reduction", "parallel"]
func.func @no_squares(%x: tensor<8192x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 8.192000e+03 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#x, #c], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8192x64xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %mean = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%sum : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.divf %p, %n : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %squares = linalg.generic {indexing_maps = [#x, #c, #c], iterator_types = ["reduction", "parallel"]}
      ins(%x, %mean : tensor<8192x64xf32>, tensor<64xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %d = arith.subf %p, %q : f32
    %s = arith.mulf %d, %p : f32
    %a = arith.addf %o, %s : f32
    linalg.yield %a : f32
  } -> tensor<64xf32>
  return %mean, %squares : tensor<64xf32>, tensor<64xf32>
}

// Three columns are no neighbours for threads side by side.
// CHECK-LABEL: func.func @few_columns(
// CHECK-COUNT-2: iterator_types = ["reduction", "parallel"]
func.func @few_columns(%x: tensor<8192x3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 8.192000e+03 : f32
  %e = tensor.empty() : tensor<3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %sum = linalg.generic {indexing_maps = [#x, #c], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8192x3xf32>) outs(%f : tensor<3xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<3xf32>
  %mean = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%sum : tensor<3xf32>) outs(%e : tensor<3xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.divf %p, %n : f32
    linalg.yield %s : f32
  } -> tensor<3xf32>
  %squares = linalg.generic {indexing_maps = [#x, #c, #c], iterator_types = ["reduction", "parallel"]}
      ins(%x, %mean : tensor<8192x3xf32>, tensor<3xf32>) outs(%f : tensor<3xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %d = arith.subf %p, %q : f32
    %s = arith.mulf %d, %d : f32
    %a = arith.addf %o, %s : f32
    linalg.yield %a : f32
  } -> tensor<3xf32>
  return %mean, %squares : tensor<3xf32>, tensor<3xf32>
}
