# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses the ranges of the dimensions that a PyTorch program leaves free."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xyntra.compiler.inputs.sizes import Sizes, sizes_of
from xyntra.errors import InputError
from xyntra.frontends.torch.program import AtenProgram, AtenSymbol

__all__ = ["FreeShapes", "sizes_of_program"]

_LEAST, _TIMES = 64, 8


@dataclass(frozen=True)
class FreeShapes:
    """Which dimensions of a module are free.

    Attributes:
        shapes: `dynamic_shapes` of torch.export; None for none.
        dims: sizes, and ranges of sizes, by name.
    """

    shapes: Any = None
    dims: Mapping[str, int | range | str] | None = None


def sizes_of_program(program: AtenProgram, dims: Mapping[str, int | range | str] | None) -> Sizes:
    """Return the sizes of a program's dimensions.

    A dimension that neither PyTorch nor `dims` gives a largest size has one that is eight times
    that of the example, and at least 64.

    Raises:
        InputError: `dims` holds something else, the program has no such dimension, or does not have
            these sizes.
    """
    given = sizes_of(dims=dims)
    known = {each.name: each for each in program.symbols}
    for name in (*given.dims, *given.ranges):
        if name not in known:
            raise InputError(
                "unknown-dimension",
                f"the module has no free dimension '{name}'",
                place=f"dims[{name!r}]",
                cause=f"its free dimensions are {', '.join(known) or 'none'}",
                hint="dynamic_shapes={'x': {0: torch.export.Dim('batch', max=64)}} leaves one free",
            )
    for name, (low, high, _) in given.ranges.items():
        _check_range(known[name], low, high)
    for name, size in given.dims.items():
        _check_range(known[name], size, size)
    ranges = {
        each.name: given.ranges.get(each.name, (each.low, _largest(each), 1))
        for each in program.symbols
        if each.name not in given.dims
    }
    fixed = {name: low for name, (low, high, _) in ranges.items() if low == high}
    kept = {name: each for name, each in ranges.items() if name not in fixed}
    return Sizes(dims={**given.dims, **fixed}, ranges=kept)


def _largest(symbol: AtenSymbol) -> int:
    if symbol.high is not None:
        return symbol.high
    return max(symbol.low, _LEAST, _TIMES * symbol.example)


def _check_range(symbol: AtenSymbol, low: int, high: int) -> None:
    if symbol.low <= low and (symbol.high is None or high <= symbol.high):
        return
    most = "" if symbol.high is None else f", max={symbol.high}"
    raise InputError(
        "dimension-range",
        f"'{symbol.name}' cannot have all sizes from {low} to {high}",
        place=f"dims[{symbol.name!r}]",
        cause=f"PyTorch traced the module for Dim({symbol.name!r}, min={symbol.low}{most})",
        hint="give that dimension another range in dynamic_shapes",
    )
