# SPDX-License-Identifier: MIT OR Apache-2.0
"""Values that code built in several steps computes once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from xyntra.dialects.mlir import ir

_T = TypeVar("_T")


class BlockMemo:
    """A cache of values built at the end of a block, for use further down in that block."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[ir.Block, object]] = {}

    def once(self, key: Hashable, build: Callable[[], _T]) -> _T:
        """Return what `build` built for `key` in the current block; build it if nothing has."""
        block = ir.InsertionPoint.current.block
        known = self._known.get(key)
        if known is not None and known[0] == block:
            return known[1]  # type: ignore[return-value]  # `key` stands for one type
        built = build()
        self._known[key] = block, built
        return built
