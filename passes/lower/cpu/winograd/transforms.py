# SPDX-License-Identifier: MIT OR Apache-2.0
"""The transforms of Winograd's minimal filtering F(2x2, 3x3), on scalars or on vectors.

Two neighbouring outputs of a filter with three taps take four products instead of six:
y = A^T ((G g) * (B^T d)) for taps g and inputs d, in each of two dimensions. Source: Lavin and
Gray, "Fast Algorithms for Convolutional Neural Networks", 2015, section 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.winograd import TAPS

OUTPUTS = 2
POINTS = OUTPUTS + TAPS - 1
"""Outputs, and products, along one dimension."""

_Line = Callable[[Sequence[ir.Value]], list[ir.Value]]


def transformed_inputs(inputs: Sequence[ir.Value]) -> list[ir.Value]:
    """Return B^T d B for a tile `d` of 4 x 4 values, row by row."""
    return _both_ways(inputs, POINTS, _input_line)


def transformed_taps(taps: Sequence[ir.Value], half: ir.Value) -> list[ir.Value]:
    """Return G g G^T, 4 x 4 values, for 3 x 3 taps `g`; `half` is one half."""
    return _both_ways(taps, TAPS, lambda line: _taps_line(line, half))


def outputs_of(products: Sequence[ir.Value]) -> list[ir.Value]:
    """Return A^T m A, 2 x 2 values, for 4 x 4 products `m`."""
    return _both_ways(products, POINTS, _output_line)


def _both_ways(square: Sequence[ir.Value], size: int, line: _Line) -> list[ir.Value]:
    """Apply `line` to every column of a square, then to every row of what comes out."""
    columns = [line(square[column::size]) for column in range(size)]
    rows = [line(row) for row in zip(*columns, strict=True)]
    return [value for row in rows for value in row]


def _input_line(d: Sequence[ir.Value]) -> list[ir.Value]:
    return [
        arith.subf(d[0], d[2]),
        arith.addf(d[1], d[2]),
        arith.subf(d[2], d[1]),
        arith.subf(d[1], d[3]),
    ]


def _taps_line(g: Sequence[ir.Value], half: ir.Value) -> list[ir.Value]:
    ends = arith.addf(g[0], g[2])
    return [
        g[0],
        arith.mulf(arith.addf(ends, g[1]), half),
        arith.mulf(arith.subf(ends, g[1]), half),
        g[2],
    ]


def _output_line(m: Sequence[ir.Value]) -> list[ir.Value]:
    return [
        arith.addf(arith.addf(m[0], m[1]), m[2]),
        arith.subf(arith.subf(m[1], m[2]), m[3]),
    ]
