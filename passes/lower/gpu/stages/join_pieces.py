# SPDX-License-Identifier: MIT OR Apache-2.0
"""`join-pieces`: a buffer that operations write piece by piece becomes one of them.

The pieces of an image that is padded, or of a concatenation along odd rows, begin anywhere: stores
to them are narrow, and fill parts of sectors. One operation that asks where each element is, and
looks it up in the piece, writes the buffer from its beginning to its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import kernel_function
from xyntra.passes.cost.work import scalar_cost
from xyntra.passes.lower.gpu.elementwise.pointwise import pointwise_tile
from xyntra.passes.lower.gpu.emit.thread_grid import MAX_GRID, as_i32, as_index, i32, is_below
from xyntra.passes.lower.gpu.emit.vectors import item_bytes
from xyntra.passes.lower.gpu.stages.stage import Stage, stages_of, tidy
from xyntra.passes.lower.kernels.element_nests import elementwise_nest, repeated
from xyntra.passes.lower.kernels.pieces import Box, Digits
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, Loop, linear_nest
from xyntra.passes.lower.loops.memrefs import flattened, root, span
from xyntra.passes.lower.loops.nest_generic import generic_of
from xyntra.passes.lower.loops.shared_constants import integer_constant
from xyntra.passes.registry import register_pass

_NARROW = 4  # bytes of a store that wastes most of its sector
_MOST_LOADS = 3  # of an element, all but one of them in vain
_CHEAP = 8  # instructions of all pieces, which every element takes


@register_pass
@dataclass(frozen=True)
class JoinPieces:
    """Let one operation write what a stage writes in pieces, where these have no long vectors.

    An element is computed as that of each piece, and one result is chosen, so few pieces may
    compute anything. What is read is read inside of a piece, whichever element it is for.
    """

    name: ClassVar[str] = "join-pieces"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`."""
        function = kernel_function(module)
        for stage in stages_of(function):
            pieces = _pieces_of(stage)
            if pieces is not None:
                _join(stage, pieces)
        tidy(function)


@dataclass(frozen=True)
class _Pieces:
    """What writes a buffer, each element of it once.

    Attributes:
        output: the whole buffer, with a stride for each digit.
        extents: of a loop for each digit.
        nests: who writes.
        boxes: what each of them writes.
    """

    output: BufferOperand
    extents: tuple[int, ...]
    nests: list[LinearNest]
    boxes: list[Box]


def _pieces_of(stage: Stage) -> _Pieces | None:
    """Return the pieces that one operation should write; None for any other stage."""
    found = [elementwise_nest(op) for op in stage.operations]
    nests = [nest for nest in found if nest is not None]
    if len(nests) < max(2, len(found)) or any(len(nest.outputs) != 1 for nest in nests):
        return None
    buffers = {root(nest.outputs[0].value) for nest in nests}
    if len(buffers) > 1 or not _are_simple(nests) or not _are_narrow(nests):
        return None
    accesses = [(nest, nest.outputs[0]) for nest in nests]
    digits = Digits.of(accesses)
    boxes = [] if digits is None else [Box.of(*each, digits) for each in accesses]
    known = [box for box in boxes if box is not None]
    if digits is None or len(known) < len(nests):
        return None
    (buffer,) = buffers
    memory = [buffer, *(root(each.value) for nest in nests for each in _moving(nest))]
    if max(map(span, memory)) > MAX_GRID:
        return None
    whole = prod(ir.MemRefType(buffer.type).shape)
    written = sum(prod(loop.extent for loop in nest.loops) for nest in nests)
    if written != whole or any(one.meets(other) for one, other in combinations(known, 2)):
        return None
    limits = [digits.limit(digit) for digit in range(1, len(digits.places))]
    extents = (whole // digits.places[0], *(each for each in limits if each is not None))
    return _Pieces(BufferOperand(buffer, 0, digits.places), extents, nests, known)


def _are_simple(nests: Sequence[LinearNest]) -> bool:
    """Tell whether it takes little to compute an element as that of every piece."""
    loads = [each for nest in nests for each in _moving(nest)]
    cost = sum(scalar_cost(view.operation.name) for nest in nests for view in nest.body.operations)
    if any(nest.reads_outputs for nest in nests) or cost > _CHEAP:
        return False
    return 0 < len(loads) <= _MOST_LOADS and all(min([0, *each.strides]) == 0 for each in loads)


def _are_narrow(nests: Sequence[LinearNest]) -> bool:
    """Tell whether most is written by narrow stores."""
    longest = max(nests, key=lambda nest: prod(loop.extent for loop in nest.loops))
    return 0 < pointwise_tile(longest).vector * item_bytes(longest.outputs[0]) <= _NARROW


def _moving(nest: LinearNest) -> list[BufferOperand]:
    return [each for each in nest.inputs if not each.is_scalar]


def _join(stage: Stage, pieces: _Pieces) -> None:
    """Replace the operations of a stage, if threads then have vectors of what it writes."""
    first = stage.operations[0]
    sources = {root(each.value): None for nest in pieces.nests for each in _moving(nest)}
    loops = [Loop(extent, is_reduction=False) for extent in pieces.extents]
    with first.location, ir.InsertionPoint(first):
        flat = {memory: flattened(memory) for memory in sources}
        joined = generic_of(loops, [], [pieces.output], lambda _: [_element(pieces, flat)])
    replaced = list(stage.operations)
    if pointwise_tile(linear_nest(joined)).own == 1:
        replaced = [joined]
    for op in replaced:
        op.erase()


def _element(pieces: _Pieces, flat: dict[ir.Value, ir.Value]) -> ir.Value:
    """Emit an element of the buffer as that of the piece that it lies in."""
    kind = ir.IndexType.get()
    places = [
        as_i32(emit("linalg.index", [], kind, dim=_i64(digit)))
        for digit in range(len(pieces.extents))
    ]
    values = [_value(pieces, number, places, flat) for number in range(len(pieces.nests))]
    # Constants, of which paddings have one, need not be told apart.
    values.sort(key=lambda found: bool(_moving(found[0])))
    (_, _, result), *others = values
    for _, is_inside, value in others:
        if value != result:
            result = integers.select(is_inside, value, result)
    return result


def _value(
    pieces: _Pieces, number: int, places: Sequence[ir.Value], flat: dict[ir.Value, ir.Value]
) -> tuple[LinearNest, ir.Value, ir.Value]:
    """Emit an element as that of a piece; return who writes that, whether it is of it, and it."""
    nest, box = pieces.nests[number], pieces.boxes[number]
    is_inside = _is_inside(places, box, pieces.extents)
    given = [
        each.value if each.is_scalar else _load(each, box, places, is_inside, flat)
        for each in nest.inputs
    ]
    (value,) = repeated(nest.body, given)
    return nest, is_inside, value


def _is_inside(places: Sequence[ir.Value], box: Box, extents: Sequence[int]) -> ir.Value:
    """Tell, as an i1, whether an element lies in a box that is not the whole buffer.

    What a row has in common comes first, and the place in it last.
    """
    found = integer_constant(1, 1)
    for place, low, high, extent in zip(places, box.low, box.high, extents, strict=True):
        if high - low < extent:
            inside = is_below(integers.subi(place, i32(low)) if low else place, high - low)
            found = integers.andi(found, inside)
    return found


def _load(
    access: BufferOperand,
    box: Box,
    places: Sequence[ir.Value],
    is_inside: ir.Value,
    flat: dict[ir.Value, ir.Value],
) -> ir.Value:
    """Read what the element of a box is computed from; its first one for an element elsewhere."""
    loops = zip(box.low, box.loops, strict=True)
    steps = [0 if loop is None else access.strides[loop] for _, loop in loops]
    start = access.start - sum(low * step for low, step in zip(box.low, steps, strict=True))
    found = i32(start)
    for place, step in zip(places, steps, strict=True):
        if step:
            found = integers.addi(found, integers.muli(place, i32(step)))
    found = integers.select(is_inside, found, i32(access.start))
    memory = flat[root(access.value)]
    return emit("memref.load", [memory, as_index(found)], access.element_type)


def _i64(number: int) -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
