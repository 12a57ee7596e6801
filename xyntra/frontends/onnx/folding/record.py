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
        elements: of those results of several elements that became tensors of the program.
    """

    kept: frozenset[str] = frozenset()
    sizes_are_free: bool = False
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    elements: dict[str, bytes] = field(default_factory=dict)
    _folded: dict[int, tuple[str, np.ndarray]] = field(default_factory=dict)

    def keeps(self, names: Sequence[str]) -> bool:
        """Tell whether a node with these results stays in the program."""
        return not self.kept.isdisjoint(names)

    def note(self, names: Sequence[str], arrays: Sequence[np.ndarray]) -> None:
        """Note the results of a node."""
        for name, array in zip(names, arrays, strict=False):
            self.shapes[name] = array.shape
            self._folded[id(array)] = name, array  # which lives as long as the number is its

    def note_tensor(self, array: np.ndarray) -> None:
        """Note that an array becomes a tensor of the program."""
        name, _ = self._folded.get(id(array), ("", array))
        if name and array.size > 1:
            self.elements[name] = array.tobytes()


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
