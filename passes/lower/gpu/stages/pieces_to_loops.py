# SPDX-License-Identifier: MIT OR Apache-2.0
"""`pieces-to-loops`: copies that begin at even distances, in both memories, become one with loops.

The rows of merged patches are four pixels each: as four copies they are pieces of rows, as one copy
whole ones, which a norm can hold in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import entry_block, kernel_function
from xyntra.passes.lower.gpu.stages.long_reductions import reduces
from xyntra.passes.lower.gpu.stages.stage import tidy, working
from xyntra.passes.lower.kernels.element_nests import elementwise_nest
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, Loop
from xyntra.passes.lower.loops.memrefs import root, touched_by, written_by
from xyntra.passes.lower.loops.nest_generic import generic_of
from xyntra.passes.registry import register_pass

Steps = tuple[int, ...]


@register_pass
@dataclass(frozen=True)
class PiecesToLoops:
    """Make one copy of those that fill a buffer of the kernel which a reduction reads.

    What elementwise operations read is forwarded to them piece by piece (`forward-pieces`).
    """

    name: ClassVar[str] = "pieces-to-loops"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`."""
        function = kernel_function(module)
        work = working(entry_block(function))
        for buffer in dict.fromkeys(root(value) for op in work for value in written_by(op)):
            copies = _copies(buffer, work)
            whole = _replaced(copies) if copies else None
            if whole is not None:
                place = work.index(copies[0])
                work[place : place + len(copies)] = [whole]
        tidy(function)


def _copies(buffer: ir.Value, work: Sequence[ir.Operation]) -> list[ir.Operation]:
    """Return the operations that fill a buffer, if they are neighbours and a reduction reads it."""
    touching = [op for op in work if buffer in map(root, touched_by(op))]
    writers = [op for op in touching if buffer in map(root, written_by(op))]
    if isinstance(buffer.owner, ir.Block) or len(writers) < 2:
        return []
    first = work.index(writers[0])
    if list(work[first : first + len(writers)]) != writers:
        return []
    readers = [op for op in touching if op not in writers and op.name == "linalg.generic"]
    return writers if any(map(reduces, readers)) else []


def _replaced(copies: Sequence[ir.Operation]) -> ir.Operation | None:
    """Replace copies by one, and return it, if they are alike but for where they begin."""
    nests = [_copy(op) for op in copies]
    known = [nest for nest in nests if nest is not None]
    if len(known) < len(nests):
        return None
    known.sort(key=lambda nest: nest.outputs[0].start)
    if len({_likeness(nest) for nest in known}) > 1:
        return None
    starts = [tuple(each.start for each in nest.accesses) for nest in known]
    found = _even_loops(starts)
    if found is None:
        return None
    loops, accesses = _with_loops(known[0], found)
    with copies[-1].location, ir.InsertionPoint(copies[-1]):
        whole = generic_of(loops, accesses[:1], accesses[1:], lambda given: given[:1])
    for op in copies:
        op.erase()
    return whole


def _copy(op: ir.Operation) -> LinearNest | None:
    """Return an operation as a nest that copies from other memory; None for any other."""
    nest = elementwise_nest(op)
    if nest is None or len(nest.inputs) != 1 or len(nest.outputs) != 1:
        return None
    (ending, *_) = (view.operation for view in nest.body.operations)
    copies = ending.name == "linalg.yield" and ending.operands[0] == nest.body.arguments[0]
    (source,), (target,) = nest.inputs, nest.outputs
    if not copies or source.is_scalar or root(source.value) == root(target.value):
        return None
    return nest


def _likeness(nest: LinearNest) -> tuple[object, ...]:
    accesses = ((root(each.value), each.strides) for each in nest.accesses)
    return nest.loops, *accesses


def _even_loops(starts: Sequence[Steps]) -> list[tuple[int, Steps]] | None:
    """Return loops, outermost first, that begin at each of `starts` in order: extent and steps."""
    if len(starts) == 1:
        return []
    steps = _difference(starts[1], starts[0])
    count = 2
    while count < len(starts) and _difference(starts[count], starts[count - 1]) == steps:
        count += 1
    for number, start in enumerate(starts):
        if number % count and _difference(start, starts[number - 1]) != steps:
            return None
    outer = None if len(starts) % count else _even_loops(starts[::count])
    return None if outer is None else [*outer, (count, steps)]


def _difference(one: Steps, other: Steps) -> Steps:
    return tuple(mine - its for mine, its in zip(one, other, strict=True))


def _with_loops(
    nest: LinearNest, added: Sequence[tuple[int, Steps]]
) -> tuple[list[Loop], list[BufferOperand]]:
    """Return the loops of `nest` and others, in the order of its output, and its accesses."""
    columns = zip(*(each.strides for each in nest.accesses), strict=True)
    walks = list(zip(nest.loops, columns, strict=True))
    for extent, steps in added:
        inside = (
            place
            for place, (loop, others) in enumerate(walks)
            if loop.extent > 1 and others[-1] < steps[-1]
        )
        walks.insert(next(inside, len(walks)), (Loop(extent, is_reduction=False), steps))
    rows = zip(*(steps for _, steps in walks), strict=True)
    accesses = [
        replace(access, strides=strides)
        for access, strides in zip(nest.accesses, rows, strict=True)
    ]
    return [loop for loop, _ in walks], accesses
