# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the image behind a padded copy that a convolution reads, so that no copy need be made."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import terminator
from xyntra.passes.analysis.views import MEMREF_VIEWS
from xyntra.passes.lower.cpu.schedule.told import own_schedule
from xyntra.passes.lower.cpu.winograd.image import PaddedImage
from xyntra.passes.lower.cpu.winograd.plan import WinogradLoops
from xyntra.passes.lower.kernels.fills import initial_of, is_fill
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, is_linear, linear_nest
from xyntra.passes.lower.loops.memrefs import root, view_offset
from xyntra.passes.lower.loops.taken import NOTHING_TAKEN, Taken
from xyntra.passes.winograd import TAPS


@dataclass(frozen=True)
class PaddedCopy:
    """A fill of a buffer, and a copy into the middle of it."""

    fill: ir.Operation
    copy: ir.Operation


def padded_copy(
    found: WinogradLoops, convolution: ir.Operation, taken: Taken = NOTHING_TAKEN
) -> PaddedCopy | None:
    """Return the copy that `convolution` reads, and has no need of; None where there is none.

    Args:
        found: its loops.
        convolution: the linalg.generic itself.
        taken: what others make code of.
    """
    copied = _padded_copy(convolution, found.nest.inputs[found.image], taken)
    if copied is None or _behind(copied, found, flat=False) is None:
        return None
    return copied


def image_of(found: WinogradLoops, copied: PaddedCopy | None) -> PaddedImage:
    """Return the image that is read, which is that behind `copied` where that is given."""
    if copied is not None:
        with copied.copy.location:
            image = _behind(copied, found, flat=True)
        if image is not None:
            return image
    access = found.nest.inputs[found.image]
    element = access.element_type
    zero = emit("arith.constant", [], element, value=ir.FloatAttr.get(element, 0.0))
    rows, columns = (extent + TAPS - 1 for extent in found.size)
    return PaddedImage(access, (0, 0), (rows, columns), zero)


def _padded_copy(
    convolution: ir.Operation, access: BufferOperand, taken: Taken
) -> PaddedCopy | None:
    memory = root(access.value)
    if isinstance(memory.owner, ir.Block) or memory.owner.name != "memref.alloc":
        return None
    if access.offset or view_offset(access.value):
        return None
    users = [op for op in _users(memory) if op != convolution]
    order = [op for op in _operations(convolution) if op in users]
    if len(users) != 2 or len(order) != 2:
        return None
    fill, copy = order
    if fill in taken or copy in taken or own_schedule(fill) or own_schedule(copy):
        return None
    if not is_fill(fill) or fill.operands[-1] != memory or not _is_copy(copy):
        return None
    return PaddedCopy(fill, copy) if _is_never_written(root(copy.operands[0]), taken) else None


def _operations(last: ir.Operation) -> list[ir.Operation]:
    """The operations in front of `last`, in order."""
    found: list[ir.Operation] = []
    for view in last.parent.regions[0].blocks[0].operations:
        if view.operation == last:
            return found
        found.append(view.operation)
    return []


def _users(memory: ir.Value) -> list[ir.Operation]:
    """Return what touches `memory`, itself or through views."""
    found: list[ir.Operation] = []
    waiting = [memory]
    while waiting:
        for use in waiting.pop().uses:
            user = use.owner.operation
            if user.name in MEMREF_VIEWS:
                waiting.extend(user.results)
            elif user not in found:
                found.append(user)
    return found


def _is_copy(op: ir.Operation) -> bool:
    """Tell whether `op` copies memory, element by element, and does no more."""
    if op.name != "linalg.generic" or len(op.operands) != 2:
        return False
    if "reduction" in str(op.attributes["iterator_types"]):
        return False
    if not all(isinstance(value.type, ir.MemRefType) for value in op.operands):
        return False
    body = op.regions[0].blocks[0]
    ending = terminator(body)
    is_plain = len(list(body.operations)) == 1 and ending.operands[0] == body.arguments[0]
    return is_plain and is_linear(op)


def _is_never_written(memory: ir.Value, taken: Taken) -> bool:
    """Tell whether `memory` is an argument that the kernel only reads."""
    if not isinstance(memory.owner, ir.Block):
        return False
    for user in _users(memory):
        if not taken.is_nest(user):
            return False
        outputs = list(user.operands)[user.attributes["operandSegmentSizes"][0] :]
        if any(isinstance(o.type, ir.MemRefType) and root(o) == memory for o in outputs):
            return False
    return True


def _behind(copied: PaddedCopy, found: WinogradLoops, *, flat: bool) -> PaddedImage | None:
    """The image that was copied, seen by the loops in `found`; None where these differ."""
    nest = linear_nest(copied.copy, flat=flat)
    source, target = nest.inputs[0], nest.outputs[0]
    loops = [*found.outer, *found.positions, found.channel]
    padded = found.nest.inputs[found.image]
    numbers = [_loop_with(nest, padded.strides[loop]) for loop in loops]
    if None in numbers or len(nest.loops) > len(loops) + _units(nest):
        return None
    known = {
        loop: number for loop, number in zip(loops, numbers, strict=True) if number is not None
    }
    extents = {loop: nest.loops[number].extent for loop, number in known.items()}
    if any(extents[i] != found.nest.loops[i].extent for i in (*found.outer, found.channel)):
        return None
    if (
        source.strides[known[found.channel]] != 1
        or min(source.strides[i] for i in known.values()) < 1
    ):
        return None
    down, along = found.positions
    start = target.start
    top, rest = divmod(start, padded.strides[down])
    left, rest = divmod(rest, padded.strides[along])
    if rest:
        return None
    strides = [0] * len(found.nest.loops)
    for loop, number in known.items():
        strides[loop] = source.strides[number]
    access = replace(source, strides=tuple(strides))
    return PaddedImage(
        access, (top, left), (extents[down], extents[along]), initial_of(copied.fill)
    )


def _units(nest: LinearNest) -> int:
    return sum(loop.extent == 1 for loop in nest.loops)


def _loop_with(nest: LinearNest, stride: int) -> int | None:
    """The loop of more than one iteration that moves by `stride` in the output."""
    numbers = [
        number
        for number, loop in enumerate(nest.loops)
        if int(loop.extent) > 1 and nest.outputs[0].strides[number] == stride
    ]
    return numbers[0] if len(numbers) == 1 else None
