# SPDX-License-Identifier: MIT OR Apache-2.0
"""Integer constants that code made by a builder shares.

Without it, a third of the operations of a kernel for GPUs are constants that it already has.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.sizes.session import size_value


class _Shared:
    """The constants at the beginning of a block, by bits and number."""

    def __init__(self, block: ir.Block) -> None:
        self._block = block
        self._known: dict[tuple[int, int], ir.Value] = {}

    def get(self, bits: int, number: int) -> ir.Value:
        found = self._known.get((bits, number))
        if found is None:
            with ir.InsertionPoint.at_block_begin(self._block):
                found = _new(bits, number)
            self._known[bits, number] = found
        return found


_shared: ContextVar[_Shared | None] = ContextVar("_shared", default=None)


@contextmanager
def shared_constants(block: ir.Block) -> Iterator[None]:
    """Let `integer_constant` make each constant once, at the beginning of `block`.

    Everything that is built inside must lie in `block` or below, and none of the constants may be
    erased.
    """
    token = _shared.set(_Shared(block))
    try:
        yield
    finally:
        _shared.reset(token)


def integer_constant(bits: int, number: int) -> ir.Value:
    """Return a constant, a new one unless constants are shared.

    Args:
        bits: of its type; 0 for an index.
        number: its value, which may be a size that the kernel is told.
    """
    size = size_value(number)
    if size is not None:
        kind = ir.IntegerType.get_signless(bits) if bits else None
        return size if kind is None else emit("arith.index_cast", [size], kind)
    shared = _shared.get()
    return _new(bits, number) if shared is None else shared.get(bits, number)


def _new(bits: int, number: int) -> ir.Value:
    kind = ir.IntegerType.get_signless(bits) if bits else ir.IndexType.get()
    return emit("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, number))
