# SPDX-License-Identifier: MIT OR Apache-2.0
"""Matches the dimensions of two shapes with equally many elements, in row-major order."""

from __future__ import annotations

from collections.abc import Sequence

Groups = list[tuple[list[int], list[int]]]


def corresponding_groups(old: Sequence[int], new: Sequence[int]) -> Groups:
    """The finest split of both shapes into groups of dimensions of equal product, in order.

    Each group lists at least one dimension of either shape. `(2, 3, 4) -> (6, 2, 2)` gives
    `[([0, 1], [0]), ([2], [1, 2])]`.

    Args:
        old: sizes, at least one.
        new: sizes, at least one, of the same product.
    """
    if 0 in old:
        return [(list(range(len(old))), list(range(len(new))))]
    groups: Groups = []
    i = j = 0
    while i < len(old) and j < len(new):
        first, left, right = (i, j), old[i], new[j]
        i, j = i + 1, j + 1
        while left != right:
            if left < right:
                left, i = left * old[i], i + 1
            else:
                right, j = right * new[j], j + 1
        groups.append((list(range(first[0], i)), list(range(first[1], j))))
    # What remains on either side are dimensions of size 1.
    groups[-1][0].extend(range(i, len(old)))
    groups[-1][1].extend(range(j, len(new)))
    return groups
