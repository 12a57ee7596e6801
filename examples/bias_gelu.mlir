// gelu(x + bias), written as a model exporter would: one operation after another.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>

func.func @main(%x: tensor<128x768xf32>, %bias: tensor<768xf32>) -> tensor<128x768xf32> {
  %e = tensor.empty() : tensor<128x768xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %bias : tensor<128x768xf32>, tensor<768xf32>) outs(%e : tensor<128x768xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<128x768xf32>
  %y = "xyntra.gelu"(%sum) {approximate = "none"} : (tensor<128x768xf32>) -> tensor<128x768xf32>
  return %y : tensor<128x768xf32>
}
