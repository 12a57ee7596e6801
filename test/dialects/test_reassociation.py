# SPDX-License-Identifier: MIT OR Apache-2.0
"""Groups of dimensions that correspond."""

from __future__ import annotations

from math import prod

import pytest

from xyntra.dialects.tensors.reassociation import Groups, corresponding_groups


@pytest.mark.parametrize(
    ("old", "new", "groups"),
    [
        ((2, 3, 4), (6, 2, 2), [([0, 1], [0]), ([2], [1, 2])]),
        ((2, 3), (2, 3), [([0], [0]), ([1], [1])]),
        ((4, 6), (6, 4), [([0, 1], [0, 1])]),
        ((1, 3), (3,), [([0, 1], [0])]),
        ((3,), (3, 1, 1), [([0], [0, 1, 2])]),
        ((1, 1), (1,), [([0, 1], [0])]),
        ((0, 3), (3, 0, 2), [([0, 1], [0, 1, 2])]),
    ],
)
def test_groups(old: tuple[int, ...], new: tuple[int, ...], groups: Groups) -> None:
    assert corresponding_groups(old, new) == groups


@pytest.mark.parametrize(
    ("old", "new"),
    [((2, 1, 3, 4, 1), (1, 6, 1, 2, 2)), ((12, 5, 2), (3, 4, 10)), ((1,), (1, 1, 1))],
)
def test_groups_cover_both_shapes(old: tuple[int, ...], new: tuple[int, ...]) -> None:
    groups = corresponding_groups(old, new)
    assert [d for group, _ in groups for d in group] == list(range(len(old)))
    assert [d for _, group in groups for d in group] == list(range(len(new)))
    for mine, theirs in groups:
        assert prod(old[d] for d in mine) == prod(new[d] for d in theirs)
