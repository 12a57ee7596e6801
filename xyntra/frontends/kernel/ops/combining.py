# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports reductions and scans whose combining function is a program of elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from torch_mlir import ir

from xyntra.dialects.builder import Body, Iterator, Operand, Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.loops import Carried, carry_range, for_each, insert
from xyntra.errors import UnsupportedError
from xyntra.frontends.kernel.nested import run_program
from xyntra.frontends.kernel.registry import imports
from xyntra.frontends.torch.node import AtenNode
from xyntra.frontends.torch.program import AtenProgram

__all__: list[str] = []

_LANES = 32
"""Elements of a long reduction that are combined with others side by side."""
Combine = Callable[[Sequence[Scalar], Sequence[Scalar]], list[Scalar]]


class _Element(Tensor):
    """An element inside of a body, which importers of elementwise operators take for a tensor."""

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def rank(self) -> int:
        return 0


class _ElementBuilder(TensorBuilder):
    """Computes with elements at the current insertion point, where a `TensorBuilder` maps."""

    def map(
        self, body: Body, *operands: Operand, dtype: str, shape: Sequence[int] | None = None
    ) -> Tensor:
        """Apply `body` to elements and arrays of one element."""
        scalars = [
            Scalar(each.value, each.dtype)
            if isinstance(each, Tensor)
            else constant(each.item(), each.dtype.name)
            for each in operands
        ]
        result = body(*scalars)
        if not isinstance(result, Scalar):
            raise self._refused()
        return _Element(result.value, dtype)

    def tensor(self, operand: Operand) -> Tensor:
        """Return an array of one element as a constant."""
        if isinstance(operand, Tensor):
            return operand
        number = constant(operand.item(), operand.dtype.name)
        return _Element(number.value, number.dtype)

    def reshape(self, source: Tensor, shape: Sequence[int]) -> Tensor:
        """Return the element itself."""
        return source

    def emit(self, *args: Any, **kwargs: Any) -> ir.Operation:
        """Refuse what is no function of elements."""
        raise self._refused()

    def _refused(self) -> UnsupportedError:
        return UnsupportedError(
            "operator-unsupported", "a function that combines elements takes no such operation"
        )


def _combiner(node: AtenNode) -> Combine:
    """Return the function that the program of a node says, on elements of a body."""
    program = AtenProgram.from_bytes(str(node["program"]).encode())

    def combine(left: Sequence[Scalar], right: Sequence[Scalar]) -> list[Scalar]:
        b = _ElementBuilder(ir.InsertionPoint.current, node.b.location)
        given = [_Element(each.value, each.dtype) for each in (*left, *right)]
        return [Scalar(each.value, each.dtype) for each in run_program(program, given, b)]

    return combine


@imports("reduce_by")
def reduce_by(node: AtenNode) -> list[Tensor]:
    """The first element begins, so that no neutral one is needed."""
    b, axis = node.b, int(node["dim"])
    operands = [b.tensor(each) for each in node["operands"]]
    shape = operands[0].shape
    if 0 in shape:
        return [
            Tensor(b.empty(node.result(i).shape, each.dtype), each.dtype)
            for i, each in enumerate(operands)
        ]
    combine = _combiner(node)
    if node["ordered"]:
        reduced = _last(b, _scanned(node, combine, reverse=False), axis)
    elif node["commutative"] and shape[axis] >= 4 * _LANES:
        reduced = _interleaved(b, operands, axis, combine)
    else:
        reduced = _reduced(b, operands, axis, combine)
    return [b.reshape(each, node.result(i).shape) for i, each in enumerate(reduced)]


def _interleaved(
    b: TensorBuilder, operands: Sequence[Tensor], axis: int, combine: Combine
) -> list[Tensor]:
    """Combine every so many elements, lanes side by side, and then lanes, half with half."""
    shape = operands[0].shape
    steps, rest = divmod(shape[axis], _LANES)
    split = [*shape[:axis], steps, _LANES, *shape[axis + 1 :]]
    main = [b.reshape(_part(b, each, axis, 0, steps * _LANES), split) for each in operands]
    lanes = _reduced(b, main, axis, combine)
    if rest:
        behind = [_part(b, each, axis, steps * _LANES, rest) for each in operands]
        high = [_LANES - rest if d == axis else 0 for d in range(len(shape))]
        wide = [b.pad(each, [0] * len(shape), high, 0) for each in behind]
        lanes = _mapped(b, lanes, wide, combine, lambda: b.index(axis) < rest)
    count = _LANES
    while count > 1:
        count //= 2
        left = [_part(b, each, axis, 0, count) for each in lanes]
        right = [_part(b, each, axis, count, count) for each in lanes]
        lanes = _mapped(b, left, right, combine)
    return lanes


def _mapped(
    b: TensorBuilder,
    left: Sequence[Tensor],
    right: Sequence[Tensor],
    combine: Combine,
    where: Callable[[], Scalar] | None = None,
) -> list[Tensor]:
    """Combine elements pair by pair; elements of `left` stay where `where` does not hold."""
    count, shape = len(left), left[0].shape
    identity = b.identity(len(shape))

    def body(*scalars: Scalar) -> list[Scalar]:
        first, second = scalars[:count], scalars[count : 2 * count]
        found = combine(first, second)
        if where is None:
            return found
        holds = where()
        return [holds.select(new, old) for new, old in zip(found, first, strict=True)]

    return b.generic(
        [(each, identity) for each in (*left, *right)],
        [(b.empty(shape, each.dtype), each.dtype, identity) for each in left],
        ["parallel"] * len(shape),
        body,
    )


def _reduced(
    b: TensorBuilder, operands: Sequence[Tensor], axis: int, combine: Combine
) -> list[Tensor]:
    rank, shape = operands[0].rank, operands[0].shape
    kept = [d for d in range(rank) if d != axis]
    rest_of = [size for d, size in enumerate(shape) if d != axis]
    first = [b.reshape(_part(b, each, axis, 0, 1), rest_of) for each in operands]
    if shape[axis] == 1:
        return first
    rest = [_part(b, each, axis, 1, shape[axis] - 1) for each in operands]
    with b.location:
        write = ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(d) for d in kept])
    iterators: list[Iterator] = ["reduction" if d == axis else "parallel" for d in range(rank)]
    count = len(operands)
    return b.generic(
        [(each, b.identity(rank)) for each in rest],
        [(each.value, each.dtype, write) for each in first],
        iterators,
        lambda *scalars: combine(scalars[count:], scalars[:count]),
    )


def _part(b: TensorBuilder, x: Tensor, axis: int, start: int, size: int) -> Tensor:
    starts = [start if d == axis else 0 for d in range(x.rank)]
    return b.slice(
        x, starts, [size if d == axis else n for d, n in enumerate(x.shape)], [1] * x.rank
    )


def _last(b: TensorBuilder, operands: Sequence[Tensor], axis: int) -> list[Tensor]:
    return [_part(b, each, axis, each.shape[axis] - 1, 1) for each in operands]


@imports("scan_by")
def scan_by(node: AtenNode) -> list[Tensor]:
    """Each element combined with the result of the one before it."""
    return _scanned(node, _combiner(node), reverse=bool(node["reverse"]))


def _scanned(node: AtenNode, combine: Combine, *, reverse: bool) -> list[Tensor]:
    """Loops along the axis inside of loops over all others, the result so far in registers."""
    b, axis = node.b, int(node["dim"])
    operands = [b.tensor(each) for each in node["operands"]]
    shape = operands[0].shape
    length = shape[axis]
    if length == 1:
        return operands
    if prod(shape) == length:
        return _scanned_row(b, operands, combine, reverse=reverse)
    outer = [size for d, size in enumerate(shape) if d != axis]
    start = [Tensor(b.empty(shape, each.dtype), each.dtype) for each in operands]

    def place(indices: Sequence[Scalar], at: Scalar) -> list[Scalar]:
        return [*indices[:axis], at, *indices[axis:]]

    def along(indices: list[Scalar], state: list[Tensor]) -> list[Tensor]:
        ends = constant(length - 1 if reverse else 0, "index")
        first = [b.extract(each, place(indices, ends)) for each in operands]
        begun = [
            insert(value, tensor, place(indices, ends))
            for value, tensor in zip(first, state, strict=True)
        ]

        def step(number: Scalar, tensors: list[Tensor], running: list[Scalar]) -> Carried:
            at = constant(length - 2, "index") - number if reverse else number + 1
            here = [b.extract(each, place(indices, at)) for each in operands]
            after = combine(running, here)
            pairs = zip(after, tensors, strict=True)
            return [insert(value, tensor, place(indices, at)) for value, tensor in pairs], after

        return carry_range(constant(length - 1, "index"), begun, first, step)[0]

    return for_each(b, outer, start, along, range(len(outer)))


def _scanned_row(
    b: TensorBuilder, operands: Sequence[Tensor], combine: Combine, *, reverse: bool
) -> list[Tensor]:
    """Scan all elements in one loop, which reads what the iteration before has written."""
    shape = operands[0].shape
    length = prod(shape)
    rows = [b.reshape(each, [length]) for each in operands]
    start = [Tensor(b.empty([length], each.dtype), each.dtype) for each in operands]

    def body(indices: list[Scalar], state: list[Tensor]) -> list[Tensor]:
        first = indices[0].equals(0)
        at = constant(length - 1, "index") - indices[0] if reverse else indices[0]
        before = first.select(at, at + 1 if reverse else at - 1)
        here = [b.extract(each, [at]) for each in rows]
        pairs = zip(state, here, strict=True)
        running = [first.select(value, b.extract(each, [before])) for each, value in pairs]
        after = combine(running, here)
        results = zip(here, after, state, strict=True)
        return [insert(first.select(x, y), tensor, [at]) for x, y, tensor in results]

    return [b.reshape(each, shape) for each in for_each(b, [length], start, body)]
