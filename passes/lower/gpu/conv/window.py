# SPDX-License-Identifier: MIT OR Apache-2.0
"""Positions in an image that is read as if it were padded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ImagePosition:
    """A position in one dimension of an image, which may lie outside of it.

    Attributes:
        steps: loops with how far each moves the position.
        first: the position of the first iteration, from the start of the image.
        size: of the image.
    """

    steps: tuple[tuple[int, int], ...]
    first: int
    size: int
