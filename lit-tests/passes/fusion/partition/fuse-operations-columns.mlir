// RUN: %xyntra-opt %s --fuse-operations=target=cuda --check-fusion=target=cuda | FileCheck %s

#x = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d2)>

// What is taken over the channels of an image meets the elements of the same place: one kernel, also
// where an element in between has two readers.
// CHECK-LABEL: func.func @channels
// CHECK-COUNT-1: "xyntra.fused"
// CHECK-NOT: "xyntra.fused"
// CHECK: kind = "row"
// CHECK: return
func.func @channels(%x: tensor<1x120x6400xf32>) -> tensor<1x120x6400xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x120x6400xf32>
  %f = tensor.empty() : tensor<1x6400xf32>
  %init = linalg.fill ins(%zero : f32) outs(%f : tensor<1x6400xf32>) -> tensor<1x6400xf32>
  %0 = linalg.generic {indexing_maps = [#x, #c], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<1x120x6400xf32>) outs(%init : tensor<1x6400xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<1x6400xf32>
  %1 = linalg.generic {indexing_maps = [#x, #c, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %0 : tensor<1x120x6400xf32>, tensor<1x6400xf32>) outs(%e : tensor<1x120x6400xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.subf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<1x120x6400xf32>
  %g = tensor.empty() : tensor<1x6400xf32>
  %start = linalg.fill ins(%zero : f32) outs(%g : tensor<1x6400xf32>) -> tensor<1x6400xf32>
  %2 = linalg.generic {indexing_maps = [#x, #c], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%1 : tensor<1x120x6400xf32>) outs(%start : tensor<1x6400xf32>) {
  ^bb0(%p: f32, %o: f32):
    %a = math.absf %p : f32
    %s = arith.maximumf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<1x6400xf32>
  %3 = linalg.generic {indexing_maps = [#x, #c, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%1, %2 : tensor<1x120x6400xf32>, tensor<1x6400xf32>) outs(%e : tensor<1x120x6400xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.divf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<1x120x6400xf32>
  return %3 : tensor<1x120x6400xf32>
}
