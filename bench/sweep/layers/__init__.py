# SPDX-License-Identifier: MIT OR Apache-2.0
"""The layers of the sweep, a module for each library. Importing this package enters all of them."""

from bench.sweep.layers import (
    attention,
    audio,
    diffusion,
    image_blocks,
    images,
    operators,
    reductions,
    text,
)

__all__ = [
    "attention",
    "audio",
    "diffusion",
    "image_blocks",
    "images",
    "operators",
    "reductions",
    "text",
]
