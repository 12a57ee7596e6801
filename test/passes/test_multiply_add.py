# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests the recognition of a matmul's body by what operations read, not by names alone."""

from __future__ import annotations

import pytest

from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.multiply_add import is_multiply_add

PLAIN = {
    "%p = arith.mulf %x, %y : f32\n%s = arith.addf %r, %p : f32\nlinalg.yield %s : f32": True,
    "%p = arith.mulf %y, %x : f32\n%s = arith.addf %p, %r : f32\nlinalg.yield %s : f32": True,
    "%p = arith.mulf %x, %r : f32\n%s = arith.addf %y, %p : f32\nlinalg.yield %s : f32": False,
    "%p = arith.mulf %x, %x : f32\n%s = arith.addf %r, %p : f32\nlinalg.yield %s : f32": False,
    "%p = arith.mulf %x, %y : f32\n%s = arith.addf %r, %p : f32\nlinalg.yield %p : f32": False,
    "%p = arith.mulf %x, %y : f32\n%s = arith.addf %p, %p : f32\nlinalg.yield %s : f32": False,
    "%s = arith.addf %x, %y : f32\n%p = arith.mulf %r, %s : f32\nlinalg.yield %p : f32": False,
}
WIDENED = {
    ("%a", "%b", "%r", "%p", "%s"): True,
    ("%b", "%a", "%p", "%r", "%s"): True,
    ("%a", "%a", "%r", "%p", "%s"): False,
    ("%a", "%r", "%b", "%p", "%s"): False,
    ("%a", "%b", "%r", "%p", "%p"): False,
}


def body_of(text: str, element: str) -> tuple[ir.Module, ir.Block]:
    """Return a module and the body of the one linalg.generic in it."""
    module = ir.Module.parse(f"""
    #m = affine_map<(d0) -> (d0)>
    #z = affine_map<(d0) -> ()>
    func.func @f(%0: tensor<4x{element}>, %1: tensor<4x{element}>,
                 %2: tensor<f32>) -> tensor<f32> {{
      %3 = linalg.generic {{indexing_maps = [#m, #m, #z], iterator_types = ["reduction"]}}
          ins(%0, %1 : tensor<4x{element}>, tensor<4x{element}>) outs(%2 : tensor<f32>) {{
      ^bb0(%x: {element}, %y: {element}, %r: f32):
        {text}
      }} -> tensor<f32>
      return %3 : tensor<f32>
    }}""")
    function = next(iter(module.body.operations))
    generic = next(iter(function.regions[0].blocks[0].operations)).operation
    return module, generic.regions[0].blocks[0]


@pytest.mark.parametrize(("text", "expected"), PLAIN.items())
def test_plain(text: str, expected: bool) -> None:
    with make_context(), ir.Location.unknown():
        _module, body = body_of(text, "f32")
        assert is_multiply_add(body) is expected
        assert not is_multiply_add(body, widened=True)


@pytest.mark.parametrize(("read", "expected"), WIDENED.items())
def test_widened(read: tuple[str, ...], expected: bool) -> None:
    left, right, first, second, end = read
    text = f"""%a = arith.extf %x : f16 to f32
        %b = arith.extf %y : f16 to f32
        %p = arith.mulf {left}, {right} : f32
        %s = arith.addf {first}, {second} : f32
        linalg.yield {end} : f32"""
    with make_context(), ir.Location.unknown():
        _module, body = body_of(text, "f16")
        assert is_multiply_add(body, widened=True) is expected
        assert not is_multiply_add(body)
