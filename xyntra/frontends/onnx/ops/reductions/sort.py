# SPDX-License-Identifier: MIT OR Apache-2.0
"""The k largest or smallest elements along an axis."""

from __future__ import annotations

from xyntra.dialects.builder import Tensor
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.loops import for_each, for_range, insert, when
from xyntra.dialects.tensors.sorting import best_along, has_keys
from xyntra.frontends.onnx.node import Node, handles


@handles("TopK")
def top_k(node: Node) -> list[Tensor]:
    """Values and their positions (int64), best first; among equals the lower position comes first.

    NaN is worse than every number.
    """
    x, b = node.tensor(0), node.b
    axis = node.axis(node.attribute("axis", -1), x.rank)
    counts = node.integers("k", 1)
    if counts is None or len(counts) != 1 or not 0 <= counts[0] <= x.shape[axis]:
        raise node.invalid(f"k is {counts}, the axis has {x.shape[axis]} elements")
    k, largest = counts[0], bool(node.attribute("largest", 1))
    shape = [k if d == axis else n for d, n in enumerate(x.shape)]
    best = [Tensor(b.fill(shape, dtype, 0), dtype) for dtype in (x.dtype, "int64")]
    if 0 in shape:
        return best
    if x.shape[axis] == 1:
        # Loops of one step would be none, and leave nothing that is a kernel.
        return [x, best[1]]
    if has_keys(x.dtype, x.shape[axis]):
        return best_along(b, x, axis, k, largest)
    return _by_insertion(node, x, axis, best, largest)


def _by_insertion(
    node: Node, x: Tensor, axis: int, best: list[Tensor], largest: bool
) -> list[Tensor]:
    """Insert each element into a sorted list of k, after one comparison with the worst of the list.

    n + k^2 log(n / k) steps for n elements in random order.
    """
    b, k = node.b, best[0].shape[axis]

    def body(indices: list[Scalar], state: list[Tensor]) -> list[Tensor]:
        step, row = indices[-1], indices[:-1]
        value = b.extract(x, _placed(row, axis, step))
        worst = b.extract(state[0], _placed(row, axis, constant(k - 1, "index")))
        wanted = (step < k) | _is_better(value, worst, largest)
        new = (value, step.cast("int64"))
        return when(wanted, state, lambda: _insert_sorted(node, state, row, axis, new, largest))

    rows = [n for d, n in enumerate(x.shape) if d != axis]
    return for_each(b, [*rows, x.shape[axis]], best, body)


def _insert_sorted(
    node: Node,
    state: list[Tensor],
    row: list[Scalar],
    axis: int,
    new: tuple[Scalar, Scalar],
    largest: bool,
) -> list[Tensor]:
    """Put `new` (value, position) behind all that are not worse, dropping the last of the list.

    Runs from the back, so that the element before each place is still the old one. The position of
    `new` is also the number of elements seen before it.
    """
    k = state[0].shape[axis]
    value, seen = new

    def stays(slot: Scalar, element: Scalar) -> Scalar:
        return (slot.cast("int64") < seen) & ~_is_better(value, element, largest)

    def body(step: Scalar, inner: list[Tensor]) -> list[Tensor]:
        slot = constant(k - 1, "index") - step
        first = slot.equals(0)
        before = first.select(slot, slot - 1)
        here, there = _placed(row, axis, slot), _placed(row, axis, before)
        old = [node.b.extract(tensor, here) for tensor in inner]
        previous = [node.b.extract(tensor, there) for tensor in inner]
        kept, fits = stays(slot, old[0]), first | stays(before, previous[0])
        chosen = [
            kept.select(mine, fits.select(fresh, moved))
            for mine, fresh, moved in zip(old, new, previous, strict=True)
        ]
        return [insert(v, tensor, here) for v, tensor in zip(chosen, inner, strict=True)]

    return for_range(k, state, body)


def _is_better(value: Scalar, other: Scalar, largest: bool) -> Scalar:
    better = value > other if largest else value < other
    if is_float(value.dtype):
        return better | (other.is_nan() & ~value.is_nan())
    return better


def _placed(row: list[Scalar], axis: int, at: Scalar) -> list[Scalar]:
    return [*row[:axis], at, *row[axis:]]
