# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that a model is the one of its samples at the ends of its ranges, and between, too.

What is computed of sizes when a model is imported may be the same at all samples by chance: the
least of a size and a number, or whether a size is above one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from torch_mlir import ir

from xyntra.errors import CompileError
from xyntra.passes.analysis.sizes.agreement import OPERATIONS_DIFFER, agree
from xyntra.plan.free.expressions import FreeSymbol, with_defined

__all__ = ["check_ends"]

Sizes = Mapping[str, int]


def check_ends(
    symbols: Sequence[FreeSymbol],
    samples: Sequence[Sizes],
    imported: Sequence[ir.Operation],
    import_at: Callable[[Sizes], ir.Operation],
) -> None:
    """Import the model at more sizes and compare it with the samples.

    With a size of 0 operands may disappear, with one of 1 dimensions, and with the largest one
    slices that are whole then: there, the model may have other operations, but no other values.

    Args:
        symbols: the dimensions that are free.
        samples: the sizes that have been looked at.
        imported: the model as it was imported at these.
        import_at: imports it at others.

    Raises:
        CompileError: it is another model there.
        XyntraError: the model cannot have these sizes.
    """
    for sizes in _points(symbols, samples[0]):
        other = import_at(sizes)
        try:
            agree([*imported, other], [*samples, sizes], told=0)
        except CompileError as error:
            may_differ = not {0, 1}.isdisjoint(sizes.values()) or _at_an_end(symbols, sizes)
            if error.code != OPERATIONS_DIFFER or not may_differ:
                shown = ", ".join(f"{name} = {size}" for name, size in sizes.items())
                error.message = f"at {shown} it is another model: {error.message}"
                raise


def _at_an_end(symbols: Sequence[FreeSymbol], sizes: Sizes) -> bool:
    return any(sizes[each.identifier] == each.high for each in symbols)


def _points(symbols: Sequence[FreeSymbol], usual: Sizes) -> Iterator[dict[str, int]]:
    free = [each for each in symbols if not each.definition]
    for symbol in free:
        sizes = symbol.values
        last = len(sizes) - 1
        for place in sorted({0, min(1, last), min(2, last), last // 2, max(0, last - 1), last}):
            yield with_defined(symbols, {**usual, symbol.identifier: sizes[place]})
    if len(free) > 1:
        yield with_defined(symbols, {each.identifier: each.high for each in free})
