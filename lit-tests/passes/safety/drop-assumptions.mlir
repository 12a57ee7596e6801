// RUN: %xyntra-opt %s --drop-assumptions | FileCheck %s

// CHECK-LABEL: func.func @flags
// CHECK: arith.addi %{{.+}}, %{{.+}} : i64
// CHECK: arith.shrui %{{.+}}, %{{.+}} : i64
// CHECK: arith.extui %{{.+}} : i32 to i64
// CHECK: arith.mulf %{{.+}}, %{{.+}} fastmath<contract> : f32
// CHECK: arith.addf %{{.+}}, %{{.+}} : f32
// CHECK: arith.subf %{{.+}}, %{{.+}} fastmath<reassoc,nsz,arcp,contract,afn> : f32
func.func @flags(%a: i64, %b: i32, %x: f32) -> (i64, i64, i64, f32, f32, f32) {
  %0 = arith.addi %a, %a overflow<nsw, nuw> : i64
  %1 = arith.shrui %a, %a exact : i64
  %2 = arith.extui %b nneg : i32 to i64
  %3 = arith.mulf %x, %x fastmath<nnan,contract> : f32
  %4 = arith.addf %x, %x fastmath<ninf> : f32
  %5 = arith.subf %x, %x fastmath<fast> : f32
  return %0, %1, %2, %3, %4, %5 : i64, i64, i64, f32, f32, f32
}

// CHECK-LABEL: func.func @loop
// CHECK-NOT: xyntra.parallel
func.func @loop(%n: index, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = scf.for %i = %n to %n step %n iter_args(%t = %x) -> (tensor<4xf32>) {
    scf.yield %t : tensor<4xf32>
  } {xyntra.parallel}
  return %y : tensor<4xf32>
}

// Only the first argument is known at load in both calls.
// CHECK-LABEL: func.func private @row_k
// CHECK-SAME: %{{.+}}: tensor<4xf32> {xyntra.constant}, %{{.+}}: tensor<4xf32>) ->
func.func private @row_k(%a: tensor<4xf32> {xyntra.constant}, %b: tensor<4xf32> {xyntra.constant})
    -> tensor<4xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "row"}>} {
  return %a : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>, %w: tensor<4xf32> {xyntra.parameter = "w"})
    -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = call @row_k(%w, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = call @row_k(%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Nothing is summed along a loop that indexes every result.
// CHECK-LABEL: func.func @reduction
// CHECK: iterator_types = ["parallel", "parallel"]
func.func @reduction(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "reduction"]} outs(%x : tensor<4x5xf32>) {
  ^bb0(%o: f32):
    %n = arith.addf %o, %o : f32
    linalg.yield %n : f32
  } -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}
