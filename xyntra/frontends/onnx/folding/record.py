# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records what is folded, and keeps nodes from it whose results are as large as a free dimension.

What is computed when a model is imported is another constant at each size. Folding the elements of
a shape is right; a sequence of positions, or a mask of them, has to be computed in calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

__all__ = ["FoldRecord", "fold_record", "recording"]


@dataclass
class FoldRecord:
    """What has been folded, and what must not be.

    Attributes:
        kept: results of nodes that stay in the program, by name.
        sizes_are_free: whether what handlers compute of sizes, too, is computed in calls.
        shapes: of results that were folded, by name.
    """

    kept: frozenset[str] = frozenset()
    sizes_are_free: bool = False
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def keeps(self, names: Sequence[str]) -> bool:
        """Tell whether a node with these results stays in the program."""
        return not self.kept.isdisjoint(names)

    def note(self, names: Sequence[str], arrays: Sequence[np.ndarray]) -> None:
        """Note the results of a node."""
        self.shapes.update((name, each.shape) for name, each in zip(names, arrays, strict=False))


_current: ContextVar[FoldRecord | None] = ContextVar("fold_record", default=None)


@contextmanager
def recording(record: FoldRecord) -> Iterator[FoldRecord]:
    """Let importers fill a record, and keep what it says."""
    token = _current.set(record)
    try:
        yield record
    finally:
        _current.reset(token)


def fold_record() -> FoldRecord:
    """Return the record that is filled; a new one where none is."""
    return _current.get() or FoldRecord()
