# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports NonMaxSuppression: boxes by falling score, without those that overlap a better one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.compaction import one_loop
from xyntra.dialects.tensors.loops import Carried, carry_range, insert, when
from xyntra.dialects.tensors.sorting import best_along
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.values import Sized


@handles("NonMaxSuppression")
def non_max_suppression(node: Node) -> Sized:
    """Rows of batch, class and box, as many as are selected.

    A box is left out where its score is not above the threshold, or where its overlap with a
    selected one of its class, as a part of both together, is above the other threshold.
    """
    boxes, scores, b = node.tensor(0), node.tensor(1), node.b
    if boxes.rank != 3 or scores.rank != 3 or boxes.shape[2] != 4:
        raise node.invalid(f"boxes {boxes.shape} and scores {scores.shape} are not of rank 3")
    batches, classes, count = scores.shape
    if boxes.shape[:2] != (batches, count):
        raise node.invalid(f"boxes {boxes.shape} and scores {scores.shape} do not fit")
    if node.attribute("center_point_box", 0) not in (0, 1):
        raise node.invalid("center_point_box is neither 0 nor 1")
    limit = _number(node, 2, "int64")
    most = min(max(int(limit.item()), 0), count) if isinstance(limit, np.ndarray) else count
    selected = Tensor(b.fill([batches * classes * most, 3], "int64", 0), "int64")
    numbers = Tensor(b.fill([2], "int64", 0), "int64")
    if batches * classes * most == 0:
        return Sized(selected, {0: b.reshape(b.slice(numbers, [0], [1], [1]), [])})
    corners = _corners(node, boxes)
    search = _Search(b, corners, scores, _by_score(b, scores), (batches, classes, count))
    settings = [b.tensor(limit), *(b.tensor(_number(node, n, "float32")) for n in (3, 4))]
    given = [node.has(4)]

    def step(at: Scalar, state: list[Tensor]) -> Sequence[Tensor]:
        return search.step(at, state, settings, *given)

    selected, numbers = one_loop(b, batches * classes * count, [selected, numbers], step)
    return Sized(selected, {0: b.reshape(b.slice(numbers, [0], [1], [1]), [])})


def _number(node: Node, position: int, dtype: str) -> Tensor | np.ndarray:
    """An input of one number, of rank 0; 0 where it is left out."""
    if not node.has(position):
        return np.zeros((), dtype)
    given = node.operand(position)
    if int(np.prod(given.shape)) != 1:
        raise node.invalid(f"input {position} is not one number")
    return node.b.reshape(given, []) if isinstance(given, Tensor) else given.reshape(())


def _by_score(b: TensorBuilder, scores: Tensor) -> Tensor:
    """The boxes of each class, the best first, those of equal scores by their number."""
    if scores.shape[2] == 1:
        return Tensor(b.fill(scores.shape, "int64", 0), "int64")
    return best_along(b, scores, 2, scores.shape[2], largest=True)[1]


def _corners(node: Node, boxes: Tensor) -> Tensor:
    """Boxes as two corners, the one of lower coordinates first."""
    b = node.b
    centered = bool(node.attribute("center_point_box", 0))

    def body(_: Scalar) -> Scalar:
        batch, box, which = (b.index(d) for d in range(3))
        high = which >= 2
        along = high.select(which - 2, which)
        first = b.extract(boxes, [batch, box, along])
        second = b.extract(boxes, [batch, box, along + 2])
        if centered:
            half = second / 2
            return high.select(first + half, first - half)
        return high.select(first.maximum(second), first.minimum(second))

    return b.map(body, boxes, dtype=boxes.dtype)


class _Search:
    """Looks at each box of each class once, in order.

    Args:
        b: where to build.
        corners: of the boxes.
        scores: of each box in each class.
        order: the boxes of each class, the best first.
        sizes: batches, classes and boxes.
    """

    def __init__(
        self,
        b: TensorBuilder,
        corners: Tensor,
        scores: Tensor,
        order: Tensor,
        sizes: tuple[int, int, int],
    ) -> None:
        self.b, self.corners, self.scores, self.order = b, corners, scores, order
        self.sizes = sizes

    def step(
        self, at: Scalar, state: list[Tensor], settings: Sequence[Tensor], has_least: bool
    ) -> Sequence[Tensor]:
        """Select the box at a position, or leave it out.

        Args:
            at: counts boxes of classes of batches.
            state: what is selected, and how much of it: in all, and ahead of this class.
            settings: the most boxes of a class, the most overlap, and the least score.
            has_least: whether there is a least score.
        """
        b, (_, classes, count) = self.b, self.sizes
        group, number = at / count, at % count
        batch, class_ = group / classes, group % classes
        box = b.extract(self.order, [batch, class_, number]).cast("index")
        zero, one = (constant(n, "index") for n in range(2))
        total = b.extract(state[1], [zero])
        start = number.equals(0).select(total, b.extract(state[1], [one]))
        most, overlap, least = (b.extract(each, []) for each in settings)
        wanted = total - start < most
        if has_least:
            wanted = wanted & (b.extract(self.scores, [batch, class_, box]) > least)
        wanted = wanted & ~self._overlaps(state[0], (start, total), (batch, box), overlap)
        held = [state[0], insert(start, state[1], [one])]

        def select() -> Sequence[Tensor]:
            rows, row = held[0], total.cast("index")
            for column, value in enumerate((batch, class_, box)):
                rows = insert(value.cast("int64"), rows, [row, constant(column, "index")])
            return [rows, insert(total + 1, held[1], [zero])]

        return when(wanted, held, select)

    def _overlaps(
        self,
        selected: Tensor,
        rows: tuple[Scalar, Scalar],
        place: tuple[Scalar, Scalar],
        limit: Scalar,
    ) -> Scalar:
        """Whether a box overlaps one of those in a span of rows by more than a limit."""
        (start, total), (batch, box) = rows, place

        def step(number: Scalar, _: list[Tensor], found: list[Scalar]) -> Carried:
            row = start.cast("index") + number
            other = self.b.extract(selected, [row, constant(2, "index")]).cast("index")
            return [], [found[0] | (self._overlap(batch, box, other) > limit)]

        nothing = constant(False, "bool")
        size = (total - start).cast("index")
        return carry_range(size, [], [nothing], step)[1][0]

    def _overlap(self, batch: Scalar, box: Scalar, other: Scalar) -> Scalar:
        """The area that two boxes share, as a part of what they cover together; 0 without any."""

        def corner(which: Scalar, number: int) -> Scalar:
            return self.b.extract(self.corners, [batch, which, constant(number, "index")])

        shared, areas = constant(1.0, self.corners.dtype), [constant(1.0, self.corners.dtype)] * 2
        for low, high in ((0, 2), (1, 3)):
            last = corner(box, high).minimum(corner(other, high))
            side = last - corner(box, low).maximum(corner(other, low))
            shared = shared * side.maximum(0)
            for n, each in enumerate((box, other)):
                areas[n] = areas[n] * (corner(each, high) - corner(each, low))
        union = areas[0] + areas[1] - shared
        is_real = (areas[0] > 0) & (areas[1] > 0) & (union > 0)
        return is_real.select(shared / union, 0)
