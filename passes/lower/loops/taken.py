# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operations that code is already planned for, while others are still looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xyntra.dialects.mlir import ir


class Taken:
    """Groups of operations, each of which will be replaced by loops where its last one stands.

    Whoever looks for neighbours sees a block as it will be then: without the operations of a
    group but the last, and loops in place of that.
    """

    def __init__(self) -> None:
        self._gone: set[ir.Operation] = set()
        self._loops: set[ir.Operation] = set()

    def take(self, group: Sequence[ir.Operation]) -> None:
        """Add a group, in order."""
        self._gone.update(group[:-1])
        self._loops.add(group[-1])

    def __contains__(self, op: ir.Operation) -> bool:
        return op in self._gone or op in self._loops

    def left(self, block: ir.Block) -> Iterator[ir.Operation]:
        """Yield the operations of `block` that there will be, or whose place loops will take."""
        for view in block.operations:
            op = view.operation
            if op not in self._gone:
                yield op

    def is_nest(self, op: ir.Operation) -> bool:
        """Tell whether `op` is a linalg.generic that no group has."""
        return op.name == "linalg.generic" and op not in self


NOTHING_TAKEN = Taken()
