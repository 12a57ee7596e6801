// RUN: %xyntra-opt %s --fast-math | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Flags that are there stay, and conversions and divisions have none.
// CHECK-LABEL: func.func @unchanged(
// CHECK-NEXT: arith.addf {{%.+}}, {{%.+}} fastmath<nnan> : f32
// CHECK-NEXT: arith.truncf {{%.+}} : f32 to f16
// CHECK-NEXT: arith.divf {{%.+}}, {{%.+}} : f16
// CHECK-NEXT: return
func.func @unchanged(%x: f32, %y: f16) -> f16 {
  %0 = arith.addf %x, %x fastmath<nnan> : f32
  %1 = arith.truncf %0 : f32 to f16
  %2 = arith.divf %1, %y : f16
  return %2 : f16
}

// An alternating sum has one order only, and so has a sum of which another value is made.
// CHECK-LABEL: func.func @order_matters(
// CHECK: arith.subf {{%.+}}, {{%.+}} fastmath<contract> : f32
// CHECK: arith.addf {{%.+}}, {{%.+}} fastmath<contract> : f32
// CHECK-NEXT: math.absf {{%.+}} : f32
func.func @order_matters(%x: tensor<4x8xf32>, %o: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%o, %o : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%p: f32, %first: f32, %second: f32):
    %d = arith.subf %p, %first : f32
    %s = arith.addf %p, %second : f32
    %a = math.absf %s : f32
    linalg.yield %d, %a : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}
