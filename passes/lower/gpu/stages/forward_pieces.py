# SPDX-License-Identifier: MIT OR Apache-2.0
"""`forward-pieces`: what reads a concatenation reads what was concatenated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import entry_block, kernel_function
from xyntra.passes.cost.work import scalar_cost
from xyntra.passes.lower.gpu.emit.vectors import item_bytes
from xyntra.passes.lower.gpu.stages.stage import tidy, working
from xyntra.passes.lower.kernels.element_nests import elementwise_nest, identity_of, repeated
from xyntra.passes.lower.kernels.pieces import Box, Digits, Part, moved, parts_of
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.memrefs import root, touched_by, written_by
from xyntra.passes.lower.loops.nest_generic import generic_of
from xyntra.passes.registry import register_pass

_CHEAP = 4  # instructions that may be repeated rather than their result stored
_MOST_NESTS = 64  # of a kernel


@register_pass
@dataclass(frozen=True)
class ForwardPieces:
    """Let operations that read a buffer which others write piece by piece read what these read.

    The pieces are those of concatenations, paddings, rotations and the like. A reader is cut along
    its loops into parts that each read one piece, and computes that itself; the buffer, and the
    operations that filled it, disappear. What is written over is not written in the first place.
    """

    name: ClassVar[str] = "forward-pieces"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`."""
        function = kernel_function(module)
        kernel = _Kernel(working(entry_block(function)))
        for buffer in kernel.written():
            if not kernel.forward(buffer):
                kernel.trim(buffer)
        for op in reversed(kernel.replaced):
            op.erase()
        tidy(function)


class _Kernel:
    """The operations of a kernel, in order; those that are replaced are erased in the end."""

    def __init__(self, work: list[ir.Operation]) -> None:
        self.work = work
        self.replaced: list[ir.Operation] = []
        self._nests: dict[ir.Operation, LinearNest | None] = {}

    def written(self) -> list[ir.Value]:
        """Return the buffers that are written, in order."""
        found = {root(value): None for op in self.work for value in written_by(op)}
        return list(found)

    def forward(self, buffer: ir.Value) -> bool:
        """Let all readers of `buffer` compute what they read; tells whether it was possible."""
        pieces = self._pieces(buffer)
        if pieces is None or isinstance(buffer.owner, ir.Block):
            return False
        readers = [op for op in self.work if self._touches(op, buffer) and op not in pieces.writers]
        found = [self._parts(op, buffer, pieces) for op in readers]
        if not readers or any(each is None for each in found):
            return False
        if len(self.work) + sum(len(each) for each in found if each) > _MOST_NESTS:
            return False
        if not self._pays(buffer, pieces, readers):
            return False
        for op in readers:
            self._forward_into(op, buffer, pieces)
        for op in pieces.writers:
            if not any(self._is_wanted(root(value), op) for value in written_by(op)):
                self._replace(op, [])
        return True

    def _is_wanted(self, buffer: ir.Value, writer: ir.Operation) -> bool:
        """Tell whether anything but what writes it has to do with a buffer."""
        if isinstance(buffer.owner, ir.Block):
            return True
        others = [op for op in self.work if op != writer and self._touches(op, buffer)]
        return any(buffer not in map(root, written_by(op)) for op in others)

    def trim(self, buffer: ir.Value) -> None:
        """Leave out what is written to `buffer` and then written over, before anything reads it."""
        pieces = self._pieces(buffer)
        if pieces is None:
            return
        if any(self._touches(op, buffer) and op not in pieces.writers for op in self.work):
            return  # a padding, which a convolution or a pooling may read around
        for number, op in enumerate(pieces.writers[:-1]):
            if len(pieces.nests[number].outputs) > 1:
                continue
            if not any(pieces.boxes[number].meets(each) for each in pieces.boxes[number + 1 :]):
                continue
            nest = pieces.nests[number]
            operand = len(nest.inputs) + pieces.outputs[number]
            parts = parts_of(nest, operand, pieces.digits, pieces.boxes)
            if parts is not None:
                kept = [part.nest for part in parts if part.box == number]
                self._replace(op, [_same(op, each) for each in kept])

    def _nest(self, op: ir.Operation) -> LinearNest | None:
        """Return an operation that computes element by element; None for any other."""
        if op not in self._nests:
            self._nests[op] = elementwise_nest(op)
        return self._nests[op]

    def _pieces(self, buffer: ir.Value) -> _Pieces | None:
        writers = [op for op in self.work if buffer in map(root, written_by(op))]
        nests = [self._nest(op) for op in writers]
        known = [each for each in nests if each is not None]
        if len(known) < len(writers) or any(_reads(each, buffer) for each in known):
            return None
        outputs = [_writing(each, buffer) for each in known]
        if any(len(each) != 1 for each in outputs):
            return None
        numbers = [number for (number,) in outputs]
        accesses = [(each, each.outputs[n]) for each, n in zip(known, numbers, strict=True)]
        digits = Digits.of(accesses)
        boxes = [] if digits is None else [Box.of(*each, digits) for each in accesses]
        whole = [each for each in boxes if each is not None]
        if digits is None or len(whole) < len(writers):
            return None
        return _Pieces(writers, known, numbers, digits, whole)

    def _touches(self, op: ir.Operation, buffer: ir.Value) -> bool:
        return buffer in map(root, touched_by(op))

    def _parts(self, op: ir.Operation, buffer: ir.Value, pieces: _Pieces) -> list[Part] | None:
        """Return the parts of a reader; None where it cannot compute what it reads."""
        nest = self._nest(op)
        if nest is None or not _reads(nest, buffer) or nest.reads_outputs:
            return None
        behind = self.work[self.work.index(pieces.writers[0]) : self.work.index(op)]
        if any(each not in behind for each in pieces.writers):
            return None
        sources = {root(each.value) for one in pieces.nests for each in one.inputs if _moves(each)}
        if any(root(value) in sources for each in behind for value in written_by(each)):
            return None
        return parts_of(nest, _reading(nest, buffer), pieces.digits, pieces.boxes)

    def _pays(self, buffer: ir.Value, pieces: _Pieces, readers: Sequence[ir.Operation]) -> bool:
        """Tell whether little is computed more than once."""
        size = prod(ir.MemRefType(buffer.type).shape)
        read = 0
        for nest in filter(None, map(self._nest, readers)):
            times = sum(_moves(each) and root(each.value) == buffer for each in nest.inputs)
            read += times * prod(loop.extent for loop in nest.loops)
        is_cheap = all(_cost(each.body) <= _CHEAP for each in pieces.nests)
        if read <= size or (is_cheap and len(pieces.writers) > 1):
            return True
        return all(_cost(each.body) == 0 and _widens(each) for each in pieces.nests)

    def _forward_into(self, op: ir.Operation, buffer: ir.Value, pieces: _Pieces) -> None:
        waiting = [op]
        while waiting:
            reader = waiting.pop()
            nest = self._nest(reader)
            parts = None
            if nest is not None and _reads(nest, buffer):
                parts = self._parts(reader, buffer, pieces)
            if nest is None or parts is None:
                continue
            number = _reading(nest, buffer)
            made = [_joined(reader, each, number, pieces) for each in parts]
            self._replace(reader, made)
            waiting.extend(made)

    def _replace(self, op: ir.Operation, others: Sequence[ir.Operation]) -> None:
        place = self.work.index(op)
        self.work[place : place + 1] = others
        self.replaced.append(op)


@dataclass(frozen=True)
class _Pieces:
    """The operations that write a buffer, and the boxes that they write.

    Attributes:
        writers: the operations, in order.
        nests: theirs.
        outputs: numbers of the outputs that are the buffer.
        digits: the system in which what they write are boxes.
        boxes: these.
    """

    writers: list[ir.Operation]
    nests: list[LinearNest]
    outputs: list[int]
    digits: Digits
    boxes: list[Box]


def _moves(access: BufferOperand) -> bool:
    return not access.is_scalar


def _reads(nest: LinearNest, buffer: ir.Value) -> bool:
    accesses = nest.accesses if nest.reads_outputs else nest.inputs
    return any(_moves(each) and root(each.value) == buffer for each in accesses)


def _writing(nest: LinearNest, buffer: ir.Value) -> list[int]:
    """Return the outputs of a nest that are `buffer`."""
    return [number for number, each in enumerate(nest.outputs) if root(each.value) == buffer]


def _reading(nest: LinearNest, buffer: ir.Value) -> int:
    """Return the first input of a nest that is `buffer`."""
    found = (_moves(each) and root(each.value) == buffer for each in nest.inputs)
    return list(found).index(True)


def _widens(nest: LinearNest) -> bool:
    """Tell whether a nest reads, for each element, fewer bytes that lie as those that it writes."""
    if len(nest.inputs) != 1 or not _moves(nest.inputs[0]):
        return False
    (read,) = nest.inputs
    return all(
        item_bytes(read) < item_bytes(each) and read.strides == each.strides
        for each in nest.outputs
    )


def _cost(body: ir.Block) -> int:
    return sum(scalar_cost(view.operation.name) for view in body.operations)


def _same(op: ir.Operation, nest: LinearNest) -> ir.Operation:
    """Return a part of an operation, before it."""
    with op.location, ir.InsertionPoint(op):
        return generic_of(
            nest.loops, nest.inputs, nest.outputs, lambda given: repeated(nest.body, given)
        )


def _joined(op: ir.Operation, piece: Part, number: int, pieces: _Pieces) -> ir.Operation:
    """Return a part of a reader, before it, which computes what it reads through an input."""
    writer, box, nest = pieces.nests[piece.box], pieces.boxes[piece.box], piece.nest
    sources = [
        moved(each, *piece.strides(box, each)) if _moves(each) else each for each in writer.inputs
    ]
    inputs = [*nest.inputs[:number], *sources, *nest.inputs[number + 1 :]]
    unique = list(dict.fromkeys(map(identity_of, inputs)))
    kept = [next(each for each in inputs if identity_of(each) == key) for key in unique]

    def body(given: list[ir.Value]) -> Sequence[ir.Value]:
        known = dict(zip(unique, given, strict=False))
        values = [known[identity_of(each)] for each in inputs]
        behind = number + len(sources)
        element = repeated(writer.body, values[number:behind])[pieces.outputs[piece.box]]
        return repeated(nest.body, [*values[:number], element, *values[behind:]])

    with op.location, ir.InsertionPoint(op):
        return generic_of(nest.loops, kept, nest.outputs, body)
