# SPDX-License-Identifier: MIT OR Apache-2.0
"""A linear nest as loops around scalar code, which LLVM vectorises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.cloning import repeat
from xyntra.passes.analysis.kernel_function import terminator
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import LinearNest
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    carrying_loop,
    index,
    load,
    loop,
    offset,
    plus,
    store,
)
from xyntra.passes.lower.loops.loop_cost import best_order
from xyntra.passes.lower.loops.transposed_loops import split_loop, transposed_loop


def is_scalar_code(body: ir.Block) -> bool:
    """Tell whether `body` can be repeated elsewhere: it has no regions."""
    return not any(len(view.operation.regions) for view in body.operations)


def emit_nest(nest: LinearNest, position: Position) -> None:
    """Emit the loops of `nest` that `position` lacks; its body satisfies `is_scalar_code`.

    Reductions that come innermost keep their accumulators in registers.
    """
    order = order_of(nest, position)
    transposed = transposed_loop(nest, order)
    if transposed is not None:
        main, rest = split_loop(nest, transposed)
        _outer_loops(main, [*order, len(nest.loops)], [], position)
        if rest is not None:
            _outer_loops(rest, order, [], position)
        return
    is_reduction = [nest.loops[number].is_reduction for number in order]
    inner = len(list(takewhile(bool, reversed(is_reduction))))
    split = len(order) - inner
    _outer_loops(nest, order[:split], order[split:], position)


def order_of(nest: LinearNest, position: Position) -> list[int]:
    """Return the loops that `position` lacks, outermost first."""
    free = [number for number in range(len(nest.loops)) if number not in position]
    order = best_order(
        [nest.loops[number].extent for number in free],
        [nest.loops[number].is_reduction for number in free],
        [[each.strides[number] for number in free] for each in nest.inputs],
        [[each.strides[number] for number in free] for each in nest.outputs],
    )
    return [free[place] for place in order]


def _outer_loops(
    nest: LinearNest, outer: Sequence[int], inner: Sequence[int], position: Position
) -> None:
    if outer:
        current = nest.loops[outer[0]]
        with loop(current.extent, parallel=not current.is_reduction) as step:
            _outer_loops(nest, outer[1:], inner, position | {outer[0]: step})
        return
    places = [offset(each, position) for each in nest.outputs]
    results = emit_reductions(nest, inner, position, _present(nest, inner, places))
    for value, output, place in zip(results, nest.outputs, places, strict=True):
        store(value, output, place)


def _present(nest: LinearNest, inner: Sequence[int], places: Sequence[ir.Value]) -> list[ir.Value]:
    """Load what the outputs hold; nothing where there is one step, which does not look at it."""
    arguments = list(nest.body.arguments)[len(nest.inputs) :]
    if not inner and not any(list(argument.uses) for argument in arguments):
        return []
    return [load(*each) for each in zip(nest.outputs, places, strict=True)]


def emit_reductions(
    nest: LinearNest, loops: Sequence[int], position: Position, carried: Sequence[ir.Value]
) -> list[ir.Value]:
    """Emit `loops` around the body of `nest` and return what the last iteration yields.

    Args:
        nest: its body satisfies `is_scalar_code`.
        loops: the reductions that `position` lacks, outermost first.
        position: an iteration of all other loops.
        carried: what the outputs hold before.
    """
    if not loops:
        return emit_body(nest, position, carried)
    built = carrying_loop(nest.loops[loops[0]].extent, carried)
    with ir.InsertionPoint(built.body):
        inside = position | {loops[0]: built.induction_variable}
        scf.YieldOp(emit_reductions(nest, loops[1:], inside, list(built.inner_iter_args)))
    return list(built.results)


def index_at(nest: LinearNest, dimension: int, position: Position) -> ir.Value:
    """Return the number of the iteration along one of the loops that the body was written for."""
    steps = nest.indices[dimension]
    parts = [(position[number], step) for number, step in enumerate(steps) if step]
    return plus(index(0), *(integers.muli(value, index(step)) for value, step in parts))


def emit_body(nest: LinearNest, position: Position, carried: Sequence[ir.Value]) -> list[ir.Value]:
    """Emit the body of `nest` at `position` and return what it yields.

    Args:
        nest: its body satisfies `is_scalar_code`.
        position: an iteration of every loop.
        carried: what the outputs hold; may be left out where the body does not look at it.
    """
    values = [
        each.value if each.is_scalar else load(each, offset(each, position)) for each in nest.inputs
    ]
    return repeat_body(nest.body, [*values, *carried], lambda loop: index_at(nest, loop, position))


def repeat_body(
    body: ir.Block, arguments: Sequence[ir.Value], index_of: Callable[[int], ir.Value]
) -> list[ir.Value]:
    """Clone the operations of `body` to the insertion point and return what they yield.

    Args:
        body: satisfies `is_scalar_code`.
        arguments: for the arguments of `body`, at least for those that are used.
        index_of: returns the number of the iteration along a dimension, for linalg.index.
    """
    mapped: dict[ir.Value, ir.Value] = dict(zip(body.arguments, arguments, strict=False))
    ending = terminator(body)
    for view in body.operations:
        op = view.operation
        if op == ending:
            break
        if op.name == "linalg.index":
            mapped[op.result] = index_of(ir.IntegerAttr(op.attributes["dim"]).value)
            continue
        repeat(op, mapped)
    return [mapped.get(value, value) for value in ending.operands]
