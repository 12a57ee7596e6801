# SPDX-License-Identifier: MIT OR Apache-2.0
"""Slices at all sizes: which parts of concatenations they are, and whether they are inside."""

from __future__ import annotations

import pytest

from xyntra.dialects.mlir import ir
from xyntra.dialects.sizes import parse
from xyntra.errors import CompileError
from xyntra.passes.analysis.sizes.agreement import agree
from xyntra.passes.analysis.sizes.slices import are_settled, check_slices

SAMPLES = [{"p": p, "b": b} for p, b in ((29, 19), (31, 23), (37, 13), (41, 17))]


def _modules(first: str, count: str, source: str) -> list[ir.Operation]:
    """A slice of rows of one of two parts, or of both, at each sample."""
    context, found = ir.Context(), []
    for sizes in SAMPLES:
        names = {**sizes, "t": sizes["p"] + sizes["b"], "last": sizes["p"] + sizes["b"] - 1}
        p, b, t = names["p"], names["b"], names["t"]
        rows = {"part": p, "both": t}[source]
        start, length = (parse(each).at(names) for each in (first, count))
        value = {"part": "%x", "both": "%c"}[source]
        text = f"""func.func @f(%x: tensor<{p}x8xf32>, %y: tensor<{b}x8xf32>) {{
  %e = tensor.empty() : tensor<{t}x8xf32>
  %a = tensor.insert_slice %x into %e[0, 0] [{p}, 8] [1, 1]
      : tensor<{p}x8xf32> into tensor<{t}x8xf32>
  %c = tensor.insert_slice %y into %a[{p}, 0] [{b}, 8] [1, 1]
      : tensor<{b}x8xf32> into tensor<{t}x8xf32>
  %s = tensor.extract_slice {value}[{start}, 0] [{length}, 8] [1, 1]
      : tensor<{rows}x8xf32> to tensor<{length}x8xf32>
  return
}}"""
        found.append(ir.Module.parse(text, context).operation)
    return found


@pytest.mark.parametrize(
    ("first", "count", "least", "settled"),
    [
        ("0", "1", {"p": 0, "b": 1}, False),  # of the second part where the first is empty
        ("0", "1", {"p": 1, "b": 1}, True),
        ("0", "5", {"p": 0, "b": 5}, False),
        ("0", "p", {"p": 0, "b": 1}, True),
        ("p", "b", {"p": 0, "b": 0}, True),
        ("last", "1", {"p": 1, "b": 0}, False),
        ("last", "1", {"p": 0, "b": 1}, True),
    ],
)
def test_what_a_slice_of_a_concatenation_is(
    first: str, count: str, least: dict[str, int], settled: bool
) -> None:
    modules = _modules(first, count, "both")
    ranges = {name: (low, 47) for name, low in least.items()}
    assert are_settled(modules[0], agree(modules, SAMPLES), ranges, {}) == settled


@pytest.mark.parametrize(
    ("first", "count", "least"),
    [("0", "1", 0), ("0", "6", 5), ("p + -7", "7", 6), ("p + -1", "1", 0)],
)
def test_no_slice_reaches_beyond_its_tensor(first: str, count: str, least: int) -> None:
    modules = _modules(first, count, "part")
    agreement = agree(modules, SAMPLES)
    with pytest.raises(CompileError, match="shorter at some sizes"):
        check_slices(modules[0], agreement, {"p": (least, 47), "b": (1, 9)}, {})
    check_slices(modules[0], agreement, {"p": (least + 1, 47), "b": (1, 9)}, {})
