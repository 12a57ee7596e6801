// gelu(x + bias), in the operations that a front end or a student would write.
func.func @main(%x: tensor<128x768xf32>, %bias: tensor<768xf32>) -> tensor<128x768xf32> {
  %half = arith.constant dense<0.5> : tensor<128x768xf32>
  %one = arith.constant dense<1.0> : tensor<128x768xf32>
  %root_half = arith.constant dense<0.707106781> : tensor<128x768xf32>
  %empty = tensor.empty() : tensor<128x768xf32>
  %row = linalg.broadcast ins(%bias : tensor<768xf32>) outs(%empty : tensor<128x768xf32>) dimensions = [0]
  %sum = arith.addf %x, %row : tensor<128x768xf32>
  %scaled = arith.mulf %sum, %root_half : tensor<128x768xf32>
  %erf = math.erf %scaled : tensor<128x768xf32>
  %shifted = arith.addf %erf, %one : tensor<128x768xf32>
  %halved = arith.mulf %sum, %half : tensor<128x768xf32>
  %y = arith.mulf %halved, %shifted : tensor<128x768xf32>
  return %y : tensor<128x768xf32>
}
