# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random operands for spellings of attention."""

from __future__ import annotations

import near_misses as near
import numpy as np
import spellings as those
from spellings import Array, Spelling

_MASKED_BY_FIRST = (
    those.kept,
    those.filled,
    those.scale_after_fill,
    near.enlarged_after_fill,
    those.kept_and_added,
    those.added_and_filled,
    near.selected_from_tensor,
    near.filled_around_sum,
    near.filled_between_sums,
    near.filled_with_infinity,
)


def dtype_of(spelling: Spelling) -> str:
    """What a spelling computes with."""
    halves = (
        those.half_precision,
        those.widened_factors,
        those.widened_values,
        those.widened_alone,
    )
    narrow = dict.fromkeys(halves, "float16")
    return {**narrow, near.in_f64: "float64"}.get(spelling, "float32")


def arrays_for(
    spelling: Spelling, shapes: tuple[tuple[int, ...], ...], seed: int = 5
) -> list[Array]:
    """Random operands; the first mask is boolean where the spelling selects by it."""
    source = np.random.default_rng(seed)
    arrays = [source.standard_normal(shape).astype(dtype_of(spelling)) for shape in shapes]
    if spelling in _MASKED_BY_FIRST:
        arrays[3] = source.random(shapes[3]) < 0.6
    return arrays
