# SPDX-License-Identifier: MIT OR Apache-2.0
"""Layouts against numpy: what numpy does to a view, a layout says with strides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

from xyntra.passes.views.layout import Layout, reading, reading_of_strides
from xyntra.passes.views.slicing import Spans, slice_of_base

SHAPES = st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4).map(tuple)


def seen(base: np.ndarray, layout: Layout) -> np.ndarray:
    """The elements of `base` that a layout shows."""
    factors = [factor for dimension in layout.dimensions for factor in dimension]
    sizes = [size for size, _ in factors]
    strides = [stride * base.itemsize for _, stride in factors]
    return as_strided(base, sizes, strides).reshape(layout.shape)


@given(shape=SHAPES, data=st.data())
def test_views_compose_as_in_numpy(shape: tuple[int, ...], data: st.DataObject) -> None:
    base = np.arange(np.prod(shape)).reshape(shape)
    layout, wanted = Layout.row_major(shape), base
    for _ in range(data.draw(st.integers(1, 4))):
        if data.draw(st.booleans()):
            order = data.draw(st.permutations(range(wanted.ndim)))
            wanted = wanted.transpose(order)
            layout = layout.gathered(order, wanted.shape)
        else:
            size = wanted.size
            first = data.draw(st.sampled_from([d for d in range(1, size + 1) if size % d == 0]))
            reshaped = layout.reshaped((first, size // first))
            if reshaped is None:
                continue
            layout, wanted = reshaped, wanted.reshape(first, size // first)
        np.testing.assert_array_equal(seen(base, layout), wanted)
        assert layout.is_row_major == np.array_equal(wanted.ravel(), base.ravel())
        read = reading(layout, shape)
        if read is not None:
            np.testing.assert_array_equal(
                read_through(base, read.shape, read.sources, wanted), wanted
            )


def read_through(
    base: np.ndarray,
    shape: tuple[int, ...],
    sources: tuple[int | None, ...],
    like: np.ndarray,
) -> np.ndarray:
    """`base`, reshaped, at the indices that a reading says."""
    grid = np.indices(like.shape)
    index = tuple(np.zeros_like(grid[0]) if i is None else grid[i] for i in sources)
    return np.asarray(base.reshape(shape)[index])


def test_a_broadcast_has_stride_0() -> None:
    layout = Layout.row_major((3,)).gathered([None, 0], (2, 3))
    assert layout.has_broadcast
    assert not layout.is_row_major
    np.testing.assert_array_equal(seen(np.arange(3), layout), [[0, 1, 2]] * 2)


def test_parted_dimensions_cannot_be_read_by_one_index() -> None:
    layout = Layout.row_major((2, 3, 4)).gathered([1, 0, 2], (3, 2, 4)).reshaped((3, 8))
    assert layout is not None
    assert layout.dimensions[1] == ((2, 12), (4, 1))
    assert reading(layout, (2, 3, 4)) is None


def test_a_reshape_that_does_not_divide_is_no_view() -> None:
    assert Layout.row_major((2, 3)).gathered([1, 0], (3, 2)).reshaped((2, 3)) is None


@pytest.mark.parametrize(
    ("base", "order", "shape", "sources"),
    [
        ((1, 4, 2, 3), (0, 2, 1, 3), (1, 4, 2, 3), (0, 2, 1, 3)),
        ((4, 6), (1, 0), (4, 6), (1, 0)),
        ((4, 1, 6), (2, 1, 0), (4, 1, 6), (2, 1, 0)),
    ],
)
def test_dimensions_of_size_1_keep_their_places(
    base: tuple[int, ...],
    order: tuple[int, ...],
    shape: tuple[int, ...],
    sources: tuple[int, ...],
) -> None:
    layout = Layout.row_major(base).gathered(order, [base[i] for i in order])
    read = reading_of_strides(layout, base)
    assert (read.shape, read.sources) == (shape, sources)


@given(shape=SHAPES, data=st.data())
def test_slices_of_views_are_views_of_slices(shape: tuple[int, ...], data: st.DataObject) -> None:
    base = np.arange(np.prod(shape)).reshape(shape)
    order = data.draw(st.permutations(range(len(shape))))
    view = base.transpose(order)
    starts = [data.draw(st.integers(0, size - 1)) for size in view.shape]
    sizes = [
        data.draw(st.integers(1, size - at)) for size, at in zip(view.shape, starts, strict=True)
    ]
    spans = Spans(tuple(starts), tuple(sizes), (1,) * len(shape))
    layout = Layout.row_major(shape).gathered(order, view.shape)
    cut = slice_of_base(layout, shape, spans, sizes)
    assert cut is not None
    part = base.reshape(cut.base)[
        tuple(slice(at, at + n) for at, n in zip(cut.spans.starts, cut.spans.sizes, strict=True))
    ]
    wanted = view[tuple(slice(at, at + n) for at, n in zip(starts, sizes, strict=True))]
    np.testing.assert_array_equal(seen(np.ascontiguousarray(part), cut.layout), wanted)
