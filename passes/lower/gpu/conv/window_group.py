# SPDX-License-Identifier: MIT OR Apache-2.0
"""A reduction over windows of an image with what follows, as its emitters are given it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.conv.window import ImagePosition
from xyntra.passes.lower.kernels.epilogue import Epilogue
from xyntra.passes.lower.loops.linear_nest import LinearNest


class WindowGroup(Protocol):
    """A reduction and what follows, which a target has found to belong together."""

    @property
    def nest(self) -> LinearNest:
        """The reduction."""

    @property
    def initial(self) -> ir.Value:
        """Return what every element of the output starts from."""

    @property
    def epilogue(self) -> Epilogue | None:
        """Return what follows."""

    @property
    def image(self) -> int | None:
        """Number of the input that is read in place of a padded buffer; None for none."""

    @property
    def windows(self) -> tuple[ImagePosition, ...]:
        """The dimensions in which the image may be read outside of its memory."""

    @property
    def outside(self) -> ir.Value | None:
        """Return what stands there."""

    @property
    def slices(self) -> Sequence[object]:
        """Return what follows, where that differs from column to column: not over windows."""

    @property
    def values(self) -> object | None:
        """Values of rows that what follows reads: not over windows."""

    @property
    def partials(self) -> object | None:
        """Sums over parts of the result's rows: not over windows."""
