# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cumulative sums and products."""

from __future__ import annotations

from math import prod

import numpy as np

from xyntra.dialects.builder import Tensor
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.loops import Carried, carry_range, for_each, insert
from xyntra.dialects.tensors.reductions import Reduction, combine
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast


def _cumulate(node: Node, kind: Reduction) -> Tensor:
    """Each element combined with all before it (or behind it) along the axis.

    16-bit floats accumulate in float32.
    """
    x, b = node.tensor(0), node.b
    position = np.asarray(node.constant(1))
    if position.size != 1:
        raise node.invalid("the axis must be one number")
    axis = node.axis(int(position.item()), x.rank)
    exclusive, reverse = node.attribute("exclusive", 0), node.attribute("reverse", 0)
    neutral = 0 if kind == "sum" else 1
    if 0 in x.shape:
        return x
    if x.shape[axis] == 1:
        return Tensor(b.fill(x.shape, x.dtype, neutral), x.dtype) if exclusive else x
    last, wide = x.shape[axis] - 1, accumulator_of(x.dtype)
    independent = [d for d in range(x.rank) if d != axis]
    start = Tensor(b.empty(x.shape, wide), wide)

    def along(row: list[Scalar], state: list[Tensor]) -> list[Tensor]:
        """Cumulate along the last axis, the sum so far being in a register."""

        def step(number: Scalar, inner: list[Tensor], total: list[Scalar]) -> Carried:
            at = constant(last, "index") - number if reverse else number
            after = combine(kind, total[0], b.extract(x, [*row, at]).cast(wide))
            return [insert(total[0] if exclusive else after, inner[0], [*row, at])], [after]

        size = constant(x.shape[axis], "index")
        return carry_range(size, state, [constant(neutral, wide)], step)[0]

    def body(indices: list[Scalar], state: list[Tensor]) -> list[Tensor]:
        step = indices[axis]
        first = step.equals(0)
        at = constant(last, "index") - step if reverse else step
        before = first.select(at, at + 1 if reverse else at - 1)
        here = _replaced(indices, axis, at)
        previous = _replaced(indices, axis, before)
        source = b.extract(x, previous if exclusive else here).cast(wide)
        added = first.select(constant(neutral, wide), source) if exclusive else source
        carried = first.select(constant(neutral, wide), b.extract(state[0], previous))
        return [insert(combine(kind, carried, added), state[0], here)]

    if axis == x.rank - 1 and prod(x.shape[:-1]) > 1:
        result = for_each(b, x.shape[:-1], [start], along, independent)
    else:
        result = for_each(b, x.shape, [start], body, independent)
    return cast(b, result[0], x.dtype)


def _replaced(indices: list[Scalar], axis: int, at: Scalar) -> list[Scalar]:
    return [at if d == axis else index for d, index in enumerate(indices)]


@handles("CumSum")
def cum_sum(node: Node) -> Tensor:
    return _cumulate(node, "sum")


@handles("CumProd")
def cum_prod(node: Node) -> Tensor:
    return _cumulate(node, "prod")
