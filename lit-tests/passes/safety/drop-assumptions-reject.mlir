// RUN: %xyntra-opt %s --drop-assumptions | FileCheck %s

// Flags that leave every result defined stay.
// CHECK-LABEL: func.func @flags
// CHECK: arith.mulf %{{.+}}, %{{.+}} fastmath<reassoc,contract> : f32
func.func @flags(%x: f32) -> f32 {
  %0 = arith.mulf %x, %x fastmath<reassoc,contract> : f32
  return %0 : f32
}

// So does what is known of the arguments of a kernel.
// CHECK-LABEL: func.func private @row_k
// CHECK-SAME: %{{.+}}: tensor<4xf32> {xyntra.constant}
func.func private @row_k(%a: tensor<4xf32> {xyntra.constant}, %b: tensor<4xf32>)
    -> tensor<4xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "row"}>} {
  return %a : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>, %w: tensor<4xf32> {xyntra.parameter = "w"}) -> tensor<4xf32> {
  %0 = call @row_k(%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
