# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests typed errors for modules that are no kernel, or have no code on a CPU."""

from __future__ import annotations

import pytest

from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.lower.cpu import LoweredKernel, lower_kernel


def lowered(text: str) -> LoweredKernel:
    with make_context():
        return lower_kernel(ir.Module.parse(text))


REFUSED = {
    "kernel-module": """
      func.func @a() { return }
      func.func @b() { return }""",
    "kernel-blocks": """
      func.func @k() {
        cf.br ^end
      ^end:
        return
      }""",
    "kernel-type": "func.func @k(%a: tensor<?xf32>) { return }",
    "kernel-inplace": """
      func.func @k(%a: tensor<4xf32>) -> tensor<4xf32> attributes {xyntra.inplace = [[0, 3]]} {
        return %a : tensor<4xf32>
      }""",
    "kernel-dynamic-size": """
  func.func @k(%n: tensor<i64>, %a: tensor<8xf32>) -> tensor<8xf32> {
    %count = tensor.extract %n[] : tensor<i64>
    %size = arith.index_cast %count : i64 to index
    %part = tensor.extract_slice %a[0] [%size] [1] : tensor<8xf32> to tensor<?xf32>
    %e = tensor.empty(%size) : tensor<?xf32>
    %n1 = linalg.negf ins(%part : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    %r = tensor.insert_slice %n1 into %a[0] [%size] [1] : tensor<?xf32> into tensor<8xf32>
    %s = linalg.add ins(%r, %r : tensor<8xf32>, tensor<8xf32>) outs(%r : tensor<8xf32>)
      -> tensor<8xf32>
    return %s : tensor<8xf32>
  }""",
    "kernel-operation": """
      func.func @k() {
        "gpu.barrier"() : () -> ()
        return
      }""",
}


@pytest.mark.parametrize("code", REFUSED)
def test_refused(code):
    with pytest.raises(CompileError) as caught:
        lowered(REFUSED[code])
    assert caught.value.code == code


def test_an_error_names_the_kernel():
    with pytest.raises(CompileError) as caught:
        lowered(REFUSED["kernel-operation"])
    assert caught.value.place == "kernel 'k'"


def test_scratch_beyond_four_gigabytes():
    kind = "tensor<600000x1000xf32>"
    text = f"""
    func.func @k(%a: {kind}, %x: tensor<1000xf32>) -> ({kind}) {{
      %e = tensor.empty() : {kind}
      %t = tensor.empty() : tensor<1000x600000xf32>
      %b = linalg.abs ins(%a : {kind}) outs(%e : {kind}) -> {kind}
      %c = linalg.transpose ins(%b : {kind}) outs(%t : tensor<1000x600000xf32>) permutation = [1, 0]
      %d = linalg.transpose ins(%c : tensor<1000x600000xf32>) outs(%e : {kind})
        permutation = [1, 0]
      %f = linalg.add ins(%d, %b : {kind}, {kind}) outs(%e : {kind}) -> {kind}
      return %f : {kind}
    }}"""
    result = lowered(text)
    assert result.scratch_bytes > 1 << 32
    assert "2400000000" in result.llvm_ir
