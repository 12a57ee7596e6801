// RUN: not %xyntra-opt %s --settle-requirements 2>&1 | FileCheck %s

// CHECK: error: If: this call takes its else_branch: it does not fit: other shapes
func.func @main(%x: tensor<4xf32>) -> (
    tensor<4xf32>,
    tensor<i1> {xyntra.requires = {
      code = "branch-not-compiled", message = "If: this call takes its else_branch",
      place = "node 'choose'", cause = "it does not fit", hint = "other shapes"}}
) {
  %false = arith.constant dense<false> : tensor<i1>
  return %x, %false : tensor<4xf32>, tensor<i1>
}
