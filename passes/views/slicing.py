# SPDX-License-Identifier: MIT OR Apache-2.0
"""Slices of views as views of slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.views.layout import Layout, strides


@dataclass(frozen=True)
class Spans:
    """The part of a tensor that a slice takes: of each dimension `starts + i * steps`."""

    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> Spans:
        """Those of a tensor.extract_slice with static operands only."""
        names = ("static_offsets", "static_sizes", "static_strides")
        return cls(*(tuple(op.attributes[name]) for name in names))


@dataclass(frozen=True)
class Cut:
    """A slice of a view: the viewed tensor's shape, what to take of it, and the view of that."""

    base: tuple[int, ...]
    spans: Spans
    layout: Layout


def slice_of_base(
    layout: Layout, base: Sequence[int], spans: Spans, shape: Sequence[int]
) -> Cut | None:
    """The part of a tensor of shape `base` that is the slice `spans`, of `shape`, of a view of it.

    None where a dimension of the view that is cut has several strides.
    """
    layout = layout.merged()
    sizes = tuple(size for size, _ in layout.factors)
    for candidate in (tuple(base), sizes):
        part = _part(layout, candidate, spans)
        if part is not None:
            rest = layout.after_cut(candidate, part.sizes).reshaped(shape)
            return None if rest is None else Cut(candidate, part, rest)
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
