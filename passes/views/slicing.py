# SPDX-License-Identifier: MIT OR Apache-2.0
"""Slices of views as views of slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.dialects.tensors.reassociation import corresponding_groups
from xyntra.passes.views.layout import Layout, strides


@dataclass(frozen=True)
class Spans:
    """The part of a tensor that a slice takes: of each dimension `starts + i * steps`."""

    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> Spans:
        """Those of a tensor.extract_slice or insert_slice with static positions only."""
        names = ("static_offsets", "static_sizes", "static_strides")
        return cls(*(tuple(op.attributes[name]) for name in names))

    def part(self, inner: Spans) -> Spans:
        """Return what `inner` takes of what this takes."""
        pairs = list(zip(self.starts, self.steps, inner.starts, inner.steps, strict=True))
        return Spans(
            tuple(start + step * at for start, step, at, _ in pairs),
            inner.sizes,
            tuple(step * by for _, step, _, by in pairs),
        )

    def gathered(self, sources: Sequence[int | None], whole: Sequence[int]) -> Spans:
        """The span of dimension `sources[i]` for each i, all of `whole` where None."""
        pairs = list(zip(sources, whole, strict=True))
        return Spans(
            tuple(0 if source is None else self.starts[source] for source, _ in pairs),
            tuple(size if source is None else self.sizes[source] for source, size in pairs),
            tuple(1 if source is None else self.steps[source] for source, _ in pairs),
        )


@dataclass(frozen=True)
class ViewSlice:
    """A slice of a view: the viewed tensor's shape, what to take of it, and the view of that."""

    base: tuple[int, ...]
    spans: Spans
    layout: Layout


def slice_of_base(
    layout: Layout, base: Sequence[int], spans: Spans, shape: Sequence[int]
) -> ViewSlice | None:
    """The part of a tensor of shape `base` that is the slice `spans`, of `shape`, of a view of it.

    None where a dimension of the view that is cut has several strides.
    """
    layout = layout.merged()
    sizes = tuple(size for size, _ in layout.factors)
    for candidate in (tuple(base), sizes):
        part = _part(layout, candidate, spans)
        if part is not None:
            rest = layout.after_cut(candidate, part.sizes).reshaped(shape)
            return None if rest is None else ViewSlice(candidate, part, rest)
    return None


def _part(layout: Layout, base: tuple[int, ...], spans: Spans) -> Spans | None:
    base_strides = strides(base)
    starts, sizes, steps = [0] * len(base), list(base), [1] * len(base)
    for i, (dimension, whole) in enumerate(zip(layout.dimensions, layout.shape, strict=True)):
        if spans.sizes[i] == whole:
            continue
        home = [d for d, size in enumerate(base) if ((size, base_strides[d]),) == dimension]
        if not home or spans.steps[i] < 1:
            return None
        starts[home[0]], sizes[home[0]] = spans.starts[i], spans.sizes[i]
        steps[home[0]] = spans.steps[i]
    return Spans(tuple(starts), tuple(sizes), tuple(steps))


def slice_of_reshape(before: Sequence[int], after: Sequence[int], spans: Spans) -> Spans | None:
    """The part of a tensor of shape `before` that holds the slice `spans` of its reshape `after`.

    None where a dimension that is cut is not one of the tensor's.
    """
    if not before or not after:
        return None
    sources: list[int | None] = [None] * len(before)
    for old, new in corresponding_groups(before, after):
        cut = [d for d in new if spans.sizes[d] != after[d]]
        if not cut:
            continue
        wide = [d for d in old if before[d] > 1]
        if len(wide) != 1 or before[wide[0]] != after[cut[0]]:
            return None
        sources[wide[0]] = cut[0]
    return spans.gathered(sources, before)


def slice_of_insertion(
    source: Sequence[int], target: Sequence[int], inserted: Spans, spans: Spans
) -> tuple[int, Spans] | None:
    """A slice of a tensor that has another inserted, as a slice of one of the two.

    The first of the pair is 0 for what is inserted, 1 for what it is inserted into. None where the
    slice has elements of both.
    """
    if len(source) != len(target) or set(inserted.steps) != {1} or set(spans.steps) != {1}:
        return None
    pairs = list(zip(spans.starts, spans.sizes, inserted.starts, inserted.sizes, strict=True))
    if any(at + n <= start or start + size <= at for at, n, start, size in pairs):
        return 1, spans
    if any(at < start or at + n > start + size for at, n, start, size in pairs):
        return None
    return 0, Spans(tuple(at - start for at, _, start, _ in pairs), spans.sizes, spans.steps)
