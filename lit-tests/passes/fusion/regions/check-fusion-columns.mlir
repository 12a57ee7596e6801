// RUN: %xyntra-opt %s --check-fusion=target=cuda | FileCheck %s
// RUN: not %xyntra-opt %s --check-fusion=target=cuda,max-column-bytes=400 2>&1 | FileCheck %s --check-prefix=LONG
// RUN: not %xyntra-opt %s --check-fusion 2>&1 | FileCheck %s --check-prefix=CPU

#x = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d2)>

// The channels of an image are too many for one row, but 6400 columns of 480 bytes can be held apart
// from each other. On CPUs nothing works by columns.
// CHECK-LABEL: func.func @channels
// CHECK: kind = "row"
// LONG: computes at other positions, so that they cannot share a loop nest [misaligned-read]
// CPU: computes at other positions, so that they cannot share a loop nest [misaligned-read]
func.func @channels(%x: tensor<1x120x6400xf32>) -> tensor<1x120x6400xf32> {
  %0 = "xyntra.fused"() ({
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<1x120x6400xf32>
    %f = tensor.empty() : tensor<1x6400xf32>
    %init = linalg.fill ins(%zero : f32) outs(%f : tensor<1x6400xf32>) -> tensor<1x6400xf32>
    %1 = linalg.generic {indexing_maps = [#x, #c], iterator_types = ["parallel", "reduction", "parallel"]}
        ins(%x : tensor<1x120x6400xf32>) outs(%init : tensor<1x6400xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.addf %p, %o : f32
      linalg.yield %s : f32
    } -> tensor<1x6400xf32>
    %2 = linalg.generic {indexing_maps = [#x, #c, #x], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%x, %1 : tensor<1x120x6400xf32>, tensor<1x6400xf32>) outs(%e : tensor<1x120x6400xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.divf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<1x120x6400xf32>
    "xyntra.yield"(%2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1x120x6400xf32>) -> ()
  }) {kind = "row", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : () -> tensor<1x120x6400xf32>
  return %0 : tensor<1x120x6400xf32>
}
