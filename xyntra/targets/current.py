# SPDX-License-Identifier: MIT OR Apache-2.0
"""Holds where arrays, and kernels of arrays that lie on no device, are computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["CurrentDevice", "device"]


class CurrentDevice:
    """What the process computes on.

    Attributes:
        target: where graphs and kernels run, as `compile` takes it.
        chosen: whether that was said for what is computed now; else a graph runs where its arrays
            lie, if one lies on a GPU.
    """

    target = "cpu"
    chosen = False


@contextmanager
def device(name: str) -> Iterator[None]:
    """Compute on another device for as long as the context lasts: "cuda", "cuda:1", "webgpu".

    Arrays of `xyntra.array` are copied to a GPU when they are first read there, and results stay
    there. Kernels in Python run there, too, unless an argument lies on another device.
    """
    before = CurrentDevice.target, CurrentDevice.chosen
    CurrentDevice.target, CurrentDevice.chosen = str(name), True
    try:
        yield
    finally:
        CurrentDevice.target, CurrentDevice.chosen = before
