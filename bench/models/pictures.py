# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pictures that make image models answer: coloured ground, noise, and rows of glyphs.

White noise alone will not do: a text detector answers the same small number for every pixel of
it, and a comparison of two such answers shows nothing.
"""

from __future__ import annotations

import numpy as np

from bench.models.spec import Generator

__all__ = ["picture"]

GLYPH_ROWS, GLYPH_COLUMNS = 7, 5
STROKES = 0.5
NOISE = 0.05


def picture(low: float, high: float) -> Generator:
    """Return a generator of images (batch, channels, height, width) with values in [low, high]."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        images = np.stack([_image(rng, shape[1:]) for _ in range(shape[0])])
        return np.asarray(low + (high - low) * np.clip(images, 0.0, 1.0))

    return draw


def _image(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    channels, height, width = shape
    image = np.empty(shape)
    image[:] = rng.uniform(0.6, 1.0, size=(channels, 1, 1))
    top = 0
    while height - top >= 2 * GLYPH_ROWS:
        scale = int(rng.integers(2, max(3, min(6, (height - top) // GLYPH_ROWS)) + 1))
        line = _line(rng, height=height - top, width=width, scale=scale)
        ink = rng.uniform(0.0, 0.4, size=(channels, 1, 1))
        rows = slice(top, top + line.shape[0])
        image[:, rows] = np.where(line, ink, image[:, rows])
        top += line.shape[0] + scale * GLYPH_ROWS
    return image + rng.normal(0.0, NOISE, size=shape)


def _line(rng: np.random.Generator, height: int, width: int, scale: int) -> np.ndarray:
    # One row of random glyphs with gaps between them and, now and then, between words.
    columns = -(-width // scale)
    glyphs = rng.random((GLYPH_ROWS, columns)) < STROKES
    glyphs[:, GLYPH_COLUMNS :: GLYPH_COLUMNS + 1] = False
    words = np.repeat(rng.random(-(-columns // (GLYPH_COLUMNS + 1))) < 0.8, GLYPH_COLUMNS + 1)
    glyphs &= words[:columns]
    return np.kron(glyphs, np.ones((scale, scale), dtype=bool))[:height, :width].astype(bool)
