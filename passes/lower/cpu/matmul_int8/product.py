# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recognises matmuls of narrow integers: rows, columns, reductions and surrounding loops.

Rows are the loops that only one factor moves with, columns those that only the other one does. Both
are taken as one long loop each, which they are for the result; the factors are copied into panels,
so that their own layout does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import terminator
from xyntra.passes.lower.kernels.epilogue import Epilogue
from xyntra.passes.lower.kernels.prepared_operands import is_constant
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest

__all__ = ["IntegerMatmul", "IntegerOperand", "factor_types", "product_of"]

_FAR = 1 << 62
_GROUP = 4  # steps of a reduction that the largest group has
_EXTENSIONS = {"arith.extsi": False, "arith.extui": True}


@dataclass(frozen=True)
class Narrow:
    """The storage type of a factor: an integer of `bits` bits, with a sign or without."""

    bits: int
    is_unsigned: bool


@dataclass(frozen=True)
class IntegerOperand:
    """One factor of a product.

    Attributes:
        access: the factor, over the loops of the product's nest.
        loops: those that it alone moves with, outermost first; taken as one loop.
        extents: their extents.
        narrow: how it is stored.
    """

    access: BufferOperand
    loops: tuple[int, ...]
    extents: tuple[int, ...]
    narrow: Narrow

    @property
    def extent(self) -> int:
        """Rows or columns in all."""
        return prod(self.extents)


@dataclass(frozen=True)
class IntegerMatmul:
    """The result at (outer, row, column) is the sum of rows[row, k] * columns[column, k] over k.

    Attributes:
        nest: the loops.
        rows: the factor that rows are taken from.
        columns: the factor whose loops move the result by the smallest steps.
        outer: the other parallel loops.
        reductions: the loops of k, outermost first: what `rows` reads in order comes last, if its
            steps make whole groups.
    """

    nest: LinearNest
    rows: IntegerOperand
    columns: IntegerOperand
    outer: tuple[int, ...]
    reductions: tuple[int, ...]

    @property
    def depth(self) -> int:
        """Return how many products are summed."""
        return prod(self.nest.loops[number].extent for number in self.reductions)

    def merged(self, access: BufferOperand) -> BufferOperand:
        """Return the result, or what moves like it, over the loops (*outer, rows, columns)."""
        ends = [factor.loops[-1:] for factor in (self.rows, self.columns)]
        steps = [access.strides[number] for number in self.outer]
        steps += [access.strides[end[0]] if end else 0 for end in ends]
        return replace(access, strides=tuple(steps))

    def merged_epilogue(self, epilogue: Epilogue | None) -> Epilogue | None:
        """Return `epilogue` over the loops (*outer, rows, columns)."""
        if epilogue is None:
            return None
        inputs = [None if each is None else self.merged(each) for each in epilogue.inputs]
        outputs = tuple(self.merged(each) for each in epilogue.outputs)
        result = None if epilogue.result is None else self.merged(epilogue.result)
        return replace(epilogue, inputs=tuple(inputs), outputs=outputs, result=result)


def factor_types(body: ir.Block) -> tuple[Narrow, Narrow] | None:
    """Return how both factors are stored, if `body` adds their product to 32-bit accumulators."""
    if len(body.arguments) != 3 or str(body.arguments[2].type) != "i32":
        return None
    total = _defining(terminator(body).operands[0], "arith.addi")
    if total is None:
        return None
    addends = [value for value in total.operands if value != body.arguments[2]]
    product = _defining(addends[0], "arith.muli") if len(addends) == 1 else None
    if product is None:
        return None
    found: dict[int, Narrow] = {}
    for value in product.operands:
        extension = _defining(value, *_EXTENSIONS)
        if extension is None or not isinstance(extension.operands[0].owner, ir.Block):
            return None
        argument = extension.operands[0]
        kind = str(argument.type)
        is_unsigned = _EXTENSIONS[extension.name]
        if kind != "i8" and (kind != "i16" or is_unsigned):
            return None
        number = list(body.arguments).index(argument)
        found[number] = Narrow(int(kind[1:]), is_unsigned)
    return (found[0], found[1]) if set(found) == {0, 1} else None


def _defining(value: ir.Value, *names: str) -> ir.Operation | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name not in names:
        return None
    return owner.operation


def product_of(
    nest: LinearNest, types: tuple[Narrow, Narrow], companions: Sequence[BufferOperand]
) -> IntegerMatmul | None:
    """Return `nest` as a product; None where a factor has no loop of its own.

    A constant matrix times one vector counts: it is packed when the model is loaded.

    Args:
        nest: a contraction with one output.
        types: how the factors are stored.
        companions: what else is read or written for each element of the output.
    """
    parallel = [number for number, loop in enumerate(nest.loops) if not loop.is_reduction]
    output = nest.outputs[0]
    own = [
        [n for n in parallel if mine.strides[n] and not other.strides[n]]
        for mine, other in (nest.inputs, tuple(reversed(nest.inputs)))
    ]
    if not (own[0] or own[1]) or not all(output.strides[n] for n in (*own[0], *own[1])):
        return None
    nearest = [min((output.strides[number] for number in loops), default=_FAR) for loops in own]
    columns = 0 if nearest[0] < nearest[1] else 1
    if not own[1 - columns] and not is_constant(nest.inputs[columns]):
        return None
    alongside = [output, *companions]
    factors = []
    for number in (1 - columns, columns):
        loops = _one_walk(nest, own[number], alongside)
        extents = tuple(nest.loops[each].extent for each in loops)
        factors.append(IntegerOperand(nest.inputs[number], loops, extents, types[number]))
    taken = {*factors[0].loops, *factors[1].loops}
    outer = tuple(number for number in parallel if number not in taken)
    return IntegerMatmul(nest, factors[0], factors[1], outer, _in_order(nest, factors[0].access))


def _one_walk(
    nest: LinearNest, own: list[int], alongside: Sequence[BufferOperand]
) -> tuple[int, ...]:
    """Return as many of `own` loops as move everything in `alongside` in equal steps."""
    output = alongside[0]
    rest = sorted(own, key=lambda number: output.strides[number])
    if not rest:
        return ()
    group = [rest.pop(0)]
    for number in rest:
        inner = nest.loops[group[0]].extent
        if not all(each.strides[number] == inner * each.strides[group[0]] for each in alongside):
            break
        group.insert(0, number)
    return tuple(group)


def _in_order(nest: LinearNest, access: BufferOperand) -> tuple[int, ...]:
    """The reductions by the distance that `access` moves; whole groups of steps come last."""
    order = sorted(nest.reductions, key=lambda number: -abs(access.strides[number]))
    whole = [number for number in order if nest.loops[number].extent % _GROUP == 0]
    if whole and whole[-1] != order[-1]:
        order.remove(whole[-1])
        order.append(whole[-1])
    return tuple(order)
