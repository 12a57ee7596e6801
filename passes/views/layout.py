# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tensors as strided views of others: what transposes, reshapes and broadcasts compose to.

A dimension is a list of (size, stride) factors, outermost first, with strides counted in elements
of the viewed tensor in row-major order and 0 for a broadcast; a dimension of size 1 has none. This
is the shape-and-stride algebra of array libraries, with dimensions that need not be one stride.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

Factor = tuple[int, int]
Dimension = tuple[Factor, ...]


@dataclass(frozen=True)
class Layout:
    """The places of the elements of one tensor in another; neither is empty."""

    dimensions: tuple[Dimension, ...]

    @classmethod
    def row_major(cls, shape: Sequence[int]) -> Layout:
        """A tensor of `shape` as a view of itself."""
        stride = 1
        dimensions: list[Dimension] = []
        for size in reversed(shape):
            dimensions.append(((size, stride),) if size > 1 else ())
            stride *= size
        return cls(tuple(reversed(dimensions)))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        return tuple(prod(size for size, _ in dimension) for dimension in self.dimensions)

    @cached_property
    def is_row_major(self) -> bool:
        """Tell whether the view only has another shape."""
        factors = _merged(factor for dimension in self.dimensions for factor in dimension)
        return not factors or (len(factors) == 1 and factors[0][1] == 1)

    @cached_property
    def has_broadcast(self) -> bool:
        """Tell whether several elements of the view are one of the tensor."""
        return any(not stride for dimension in self.dimensions for _, stride in dimension)

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        """All strides but 0 with their sizes, the largest stride first."""
        found = {factor for dimension in self.dimensions for factor in dimension if factor[1]}
        return tuple(sorted(found, key=lambda factor: -factor[1]))

    def gathered(self, sources: Sequence[int | None], shape: Sequence[int]) -> Layout:
        """The view of `shape` with dimension i taken from `sources[i]`, broadcast where None."""
        return Layout(
            tuple(
                (((size, 0),) if size > 1 else ()) if source is None else self.dimensions[source]
                for source, size in zip(sources, shape, strict=True)
            )
        )

    def reshaped(self, shape: Sequence[int]) -> Layout | None:
        """Return the layout of the elements in row-major order under another shape.

        None where a dimension would need factors of a stride that do not divide.
        """
        left = _merged(factor for dimension in self.dimensions for factor in dimension)
        left.reverse()
        dimensions: list[Dimension] = []
        for size in shape:
            taken: list[Factor] = []
            while size > 1:
                extent, stride = left.pop()
                if size % extent == 0:
                    taken.append((extent, stride))
                    size //= extent
                elif extent % size == 0:
                    inner = extent // size
                    taken.append((size, stride * inner))
                    left.append((inner, stride))
                    size = 1
                else:
                    return None
            dimensions.append(tuple(taken))
        return Layout(tuple(dimensions))

    def merged(self) -> Layout:
        """Return the view with as few factors as possible."""
        return Layout(tuple(tuple(_merged(dimension)) for dimension in self.dimensions))

    def after_cut(self, old: Sequence[int], new: Sequence[int]) -> Layout:
        """The view after the tensor of shape `old` was cut down to shape `new`.

        Every dimension that was cut must be one factor of the view, by itself.
        """
        old_strides, new_strides = strides(old), strides(new)

        def move(factor: Factor) -> Factor:
            size, stride = factor
            if not stride:
                return factor
            home = next(i for i, s in enumerate(old_strides) if s <= stride and old[i] > 1)
            if old[home] != new[home]:
                return new[home], new_strides[home]
            return size, stride // old_strides[home] * new_strides[home]

        moved = (tuple(map(move, dimension)) for dimension in self.dimensions)
        return Layout(tuple(tuple(f for f in dimension if f[0] > 1) for dimension in moved))


def strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Elements from one index to the next along every dimension, row-major."""
    found: list[int] = []
    stride = 1
    for size in reversed(shape):
        found.append(stride)
        stride *= size
    return tuple(reversed(found))


def _merged(factors: Iterable[Factor]) -> list[Factor]:
    """`factors` with neighbours joined where together they are one stride."""
    result: list[Factor] = []
    for size, stride in factors:
        if result and result[-1][1] == stride * size:
            result[-1] = (result[-1][0] * size, stride)
        else:
            result.append((size, stride))
    return result


@dataclass(frozen=True)
class Reading:
    """A read of a view through an indexing map.

    Attributes:
        shape: what to reshape the viewed tensor to.
        sources: for every dimension of `shape` the dimension of the view that indexes it, or None
            where its size is 1.
    """

    shape: tuple[int, ...]
    sources: tuple[int | None, ...]


def reading(layout: Layout, base: Sequence[int]) -> Reading | None:
    """Return how to read `layout`, a view of a tensor of shape `base`, one dimension by one index.

    None where a dimension of the view consists of several strides, or where not all of the tensor
    is viewed.
    """
    layout = layout.merged()
    if any(len(dimension) > 1 for dimension in layout.dimensions):
        return None
    found = reading_of_strides(layout, base)
    return found if prod(found.shape) == prod(base) else None


def reading_of_strides(layout: Layout, base: Sequence[int]) -> Reading:
    """As `reading`, of a view of all of a tensor in which no dimension has two factors."""
    units = [i for i, dimension in enumerate(layout.dimensions) if not dimension]
    used = [i for i, dimension in enumerate(layout.dimensions) if dimension and dimension[0][1]]
    used.sort(key=lambda i: -layout.dimensions[i][0][1])
    sizes = [layout.dimensions[i][0][0] for i in used]
    if sizes == [size for size in base if size > 1]:
        return Reading(tuple(base), _filled(base, used, units))
    leading = [i for position, i in enumerate(units) if i == position]
    shape = (*(1 for _ in leading), *sizes)
    return Reading(shape, (*leading, *used))


def _filled(base: Sequence[int], used: list[int], units: list[int]) -> tuple[int | None, ...]:
    """`used` at the positions of `base` that are not 1, `units` in order at the others."""
    others, rest = iter(used), iter(units)
    return tuple(next(rest, None) if size == 1 else next(others) for size in base)
