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

_FEWEST_LANES, _MOST_LANES = 32, 1024
"""Elements of a long reduction that are combined with others side by side."""
Combine = Callable[[Sequence[Scalar], Sequence[Scalar]], list[Scalar]]
Part = Tensor | float | int
"""An operand of a reduction: a tensor, or the number that all of its elements are."""


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
    """Return the function that the program of a node says, on elements of a body.

    Elements become those that it takes, which are wider where partial results are.
    """
    program = AtenProgram.from_bytes(str(node["program"]).encode())
    taken = [each.type.dtype for each in program.inputs]

    def combine(left: Sequence[Scalar], right: Sequence[Scalar]) -> list[Scalar]:
        b = _ElementBuilder(ir.InsertionPoint.current, node.b.location)
        pairs = zip((*left, *right), taken, strict=True)
        given = [_Element(each.cast(dtype).value, dtype) for each, dtype in pairs]
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
    else:
        dtypes = [node.result(i).dtype for i in range(len(operands))]
        reducer = _Reducer(b, axis, combine, dtypes)
        numbers = [_number(each) for each in operands]
        parts: list[Part] = [
            each if number is None or None not in numbers else number
            for each, number in zip(operands, numbers, strict=True)
        ]
        interleaved = node["commutative"] and shape[axis] >= 4 * _FEWEST_LANES
        reduced = (
            reducer.interleaved(parts, shape) if interleaved else reducer.reduced(parts, shape)
        )
    return [b.reshape(each, node.result(i).shape) for i, each in enumerate(reduced)]


def _number(x: Tensor) -> float | int | None:
    """Return the number that all elements of a tensor are, where that is plain."""
    op = x.value.owner
    if not isinstance(op, ir.Operation | ir.OpView) or op.operation.name != "linalg.generic":
        return None
    generic = op.operation
    if len(generic.operands) != 1:
        return None
    blocks = generic.regions[0].blocks
    yielded = list(blocks[0].operations)[-1].operation.operands[0].owner
    if isinstance(yielded, ir.Block) or yielded.name != "arith.constant":
        return None
    found: float | int = yielded.attributes["value"].value
    return found


class _Reducer:
    """Combines elements along an axis.

    Args:
        b: where to build.
        axis: the axis.
        combine: takes partial results and elements.
        dtypes: of partial results.
    """

    def __init__(
        self, b: TensorBuilder, axis: int, combine: Combine, dtypes: Sequence[str]
    ) -> None:
        self.b = b
        self.axis = axis
        self.combine = combine
        self.dtypes = dtypes

    def interleaved(self, parts: Sequence[Part], shape: Sequence[int]) -> list[Tensor]:
        """Combine every so many elements, lanes side by side, and then lanes in the same way.

        Each round is a reduction of its own, so that a GPU's threads share each of them.
        """
        b, axis = self.b, self.axis
        lanes = _lanes(shape[axis])
        steps, rest = divmod(shape[axis], lanes)
        main = [self._part(each, 0, steps * lanes) for each in parts]
        found = self._round(main, [*shape[:axis], steps * lanes, *shape[axis + 1 :]], lanes)
        if rest:
            high = [lanes - rest if d == axis else 0 for d in range(len(shape))]
            behind = [
                b.pad(each, [0] * len(shape), high, 0) if isinstance(each, Tensor) else each
                for each in (self._part(each, steps * lanes, rest) for each in parts)
            ]
            found = self._mapped(found, behind, lambda: b.index(axis) < rest)
        for count in (1 << lanes.bit_length() // 2, 1):
            found = self._round(found, found[0].shape, count)
        return found

    def _round(self, parts: Sequence[Part], shape: Sequence[int], lanes: int) -> list[Tensor]:
        """Combine the elements along the axis that are `lanes` apart."""
        axis = self.axis
        split = [*shape[:axis], shape[axis] // lanes, lanes, *shape[axis + 1 :]]
        given = [self.b.reshape(x, split) if isinstance(x, Tensor) else x for x in parts]
        return self._from_nothing(given, split)

    def _from_nothing(self, parts: Sequence[Part], shape: Sequence[int]) -> list[Tensor]:
        """Combine elements along the axis, where the first one takes the place of a zero."""
        b, axis = self.b, self.axis

        def body(*scalars: Scalar) -> list[Scalar]:
            elements = self._elements(parts, scalars)
            found = self.combine(scalars[len(scalars) - len(parts) :], elements)
            begins = b.index(axis).equals(0)
            pairs = zip(elements, found, self.dtypes, strict=True)
            return [begins.select(one.cast(dtype), other) for one, other, dtype in pairs]

        rest_of = [size for d, size in enumerate(shape) if d != axis]
        first = [Tensor(b.fill(rest_of, dtype, 0), dtype) for dtype in self.dtypes]
        return self._loop(parts, shape, first, body)

    def reduced(self, parts: Sequence[Part], shape: Sequence[int]) -> list[Tensor]:
        """Combine elements along the axis with the result of those before."""
        axis = self.axis
        rest_of = [size for d, size in enumerate(shape) if d != axis]
        first = [
            self._begun(each, rest_of, dtype)
            for each, dtype in zip(parts, self.dtypes, strict=True)
        ]
        if shape[axis] == 1:
            return first
        rest = [self._part(each, 1, shape[axis] - 1) for each in parts]
        read = [each for each in rest if isinstance(each, Tensor)]

        def body(*scalars: Scalar) -> list[Scalar]:
            return self.combine(scalars[len(read) :], self._elements(rest, scalars))

        return self._loop(rest, shape, first, body)

    def _loop(
        self, parts: Sequence[Part], shape: Sequence[int], first: Sequence[Tensor], body: Body
    ) -> list[Tensor]:
        b, rank = self.b, len(shape)
        kept = [d for d in range(rank) if d != self.axis]
        with b.location:
            write = ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(d) for d in kept])
        iterators: list[Iterator] = [
            "reduction" if d == self.axis else "parallel" for d in range(rank)
        ]
        read = [(each, b.identity(rank)) for each in parts if isinstance(each, Tensor)]
        return b.generic(read, [(each.value, each.dtype, write) for each in first], iterators, body)

    def _mapped(
        self, left: Sequence[Tensor], right: Sequence[Part], where: Callable[[], Scalar]
    ) -> list[Tensor]:
        """Combine elements pair by pair; those of `left` stay where `where` does not hold."""
        b, count, shape = self.b, len(left), left[0].shape
        identity = b.identity(len(shape))
        read = [each for each in right if isinstance(each, Tensor)]

        def body(*scalars: Scalar) -> list[Scalar]:
            first = scalars[:count]
            found = self.combine(first, self._elements(right, scalars[count:]))
            holds = where()
            return [holds.select(new, old) for new, old in zip(found, first, strict=True)]

        return b.generic(
            [(each, identity) for each in (*left, *read)],
            [(b.empty(shape, each.dtype), each.dtype, identity) for each in left],
            ["parallel"] * len(shape),
            body,
        )

    def _elements(self, parts: Sequence[Part], scalars: Sequence[Scalar]) -> list[Scalar]:
        """Return an element of each operand: of those that are tensors, what a body is given."""
        given = iter(scalars)
        return [
            next(given) if isinstance(each, Tensor) else constant(each, dtype)
            for each, dtype in zip(parts, self.dtypes, strict=True)
        ]

    def _begun(self, x: Part, shape: Sequence[int], dtype: str) -> Tensor:
        """Return the first elements as partial results."""
        if not isinstance(x, Tensor):
            return Tensor(self.b.fill(shape, dtype, x), dtype)
        return _converted(self.b, self.b.reshape(self._part(x, 0, 1), shape), dtype)

    def _part(self, x: Any, start: int, size: int) -> Any:
        return _part(self.b, x, self.axis, start, size) if isinstance(x, Tensor) else x


def _lanes(length: int) -> int:
    """Return how many elements are combined side by side, a power of two about length^(2/3).

    Where the lanes are reduced in two rounds, all three then take as long.
    """
    return max(_FEWEST_LANES, min(1 << length.bit_length() * 2 // 3, _MOST_LANES))


def _converted(b: TensorBuilder, x: Tensor, dtype: str) -> Tensor:
    return x if x.dtype == dtype else b.map(lambda value: value.cast(dtype), x, dtype=dtype)


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
