// RUN: %xyntra-opt %s --fuse-operations=target=cuda --check-fusion=target=cuda | FileCheck %s
// RUN: %xyntra-opt %s --fuse-operations --check-fusion | FileCheck %s --check-prefix=CPU

#x = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d2)>

// Columns of 8000 bytes are more than threads hold; CPUs share none.
// CHECK-LABEL: func.func @long_columns
// CHECK-COUNT-3: "xyntra.fused"
// CPU-LABEL: func.func @long_columns
// CPU-COUNT-3: "xyntra.fused"
func.func @long_columns(%x: tensor<1x2000x400xf32>) -> tensor<1x2000x400xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x2000x400xf32>
  %f = tensor.empty() : tensor<1x400xf32>
  %init = linalg.fill ins(%zero : f32) outs(%f : tensor<1x400xf32>) -> tensor<1x400xf32>
  %0 = linalg.generic {indexing_maps = [#x, #c], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<1x2000x400xf32>) outs(%init : tensor<1x400xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<1x400xf32>
  %1 = linalg.generic {indexing_maps = [#x, #c, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %0 : tensor<1x2000x400xf32>, tensor<1x400xf32>) outs(%e : tensor<1x2000x400xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.subf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<1x2000x400xf32>
  %g = tensor.empty() : tensor<1x400xf32>
  %start = linalg.fill ins(%zero : f32) outs(%g : tensor<1x400xf32>) -> tensor<1x400xf32>
  %2 = linalg.generic {indexing_maps = [#x, #c], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%1 : tensor<1x2000x400xf32>) outs(%start : tensor<1x400xf32>) {
  ^bb0(%p: f32, %o: f32):
    %a = math.absf %p : f32
    %s = arith.maximumf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<1x400xf32>
  %3 = linalg.generic {indexing_maps = [#x, #c, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%1, %2 : tensor<1x2000x400xf32>, tensor<1x400xf32>) outs(%e : tensor<1x2000x400xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.divf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<1x2000x400xf32>
  return %3 : tensor<1x2000x400xf32>
}

// Four columns are no neighbours for threads side by side.
// CHECK-LABEL: func.func @few_columns
// CHECK-COUNT-2: "xyntra.fused"
func.func @few_columns(%x: tensor<1x100000x4xf32>) -> tensor<1x100000x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x100000x4xf32>
  %f = tensor.empty() : tensor<1x4xf32>
  %init = linalg.fill ins(%zero : f32) outs(%f : tensor<1x4xf32>) -> tensor<1x4xf32>
  %0 = linalg.generic {indexing_maps = [#x, #c], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<1x100000x4xf32>) outs(%init : tensor<1x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<1x4xf32>
  %1 = linalg.generic {indexing_maps = [#x, #c, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %0 : tensor<1x100000x4xf32>, tensor<1x4xf32>) outs(%e : tensor<1x100000x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.subf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<1x100000x4xf32>
  %g = tensor.empty() : tensor<1x4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%g : tensor<1x4xf32>) -> tensor<1x4xf32>
  %2 = linalg.generic {indexing_maps = [#x, #c], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%1 : tensor<1x100000x4xf32>) outs(%start : tensor<1x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %a = math.absf %p : f32
    %s = arith.maximumf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<1x4xf32>
  %3 = linalg.generic {indexing_maps = [#x, #c, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%1, %2 : tensor<1x100000x4xf32>, tensor<1x4xf32>) outs(%e : tensor<1x100000x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.divf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<1x100000x4xf32>
  return %3 : tensor<1x100000x4xf32>
}
