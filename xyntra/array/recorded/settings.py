# SPDX-License-Identifier: MIT OR Apache-2.0
"""Holds where arrays are computed, and moves them there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ArraySettings", "device"]


class ArraySettings:
    """What the process records for.

    Attributes:
        target: where graphs run, as `compile` takes it.
        chosen: whether that was said for what is computed now; else a graph runs where its arrays
            lie, if one lies on a GPU.
    """

    target = "cpu"
    chosen = False


@contextmanager
def device(name: str) -> Iterator[None]:
    """Compute arrays on another device for as long as the context lasts: "cuda", "cuda:1", "cpu".

    Arrays are copied to a GPU when they are first read there, and results stay there.
    """
    before = ArraySettings.target, ArraySettings.chosen
    ArraySettings.target, ArraySettings.chosen = str(name), True
    try:
        yield
    finally:
        ArraySettings.target, ArraySettings.chosen = before
