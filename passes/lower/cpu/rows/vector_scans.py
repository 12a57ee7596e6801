# SPDX-License-Identifier: MIT OR Apache-2.0
"""`vector-scans`: running sums along contiguous elements, a vector at a time.

Elements of a vector are added up in steps, in each of which the upper half of every block takes
what the lower one comes to (J. Sklansky, "Conditional-sum addition logic", 1960). What all before
them come to is added last, so that one vector waits for the one before it for a single addition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.analysis.loop_bounds import number_of
from xyntra.passes.analysis.owners import owner_of
from xyntra.passes.analysis.sizes.session import sized_strides
from xyntra.passes.analysis.sizes.size import Size
from xyntra.passes.lower.cpu.rows.vector_reduction import combine, identity
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.loop_builder import carrying_loop, index, plus
from xyntra.passes.lower.loops.memrefs import flattened, has_static_layout
from xyntra.passes.lower.loops.scan_loop import Scan, linear_in, scan_of
from xyntra.passes.lower.loops.vector_body import broadcast, lane_of
from xyntra.passes.registry import register_pass

_BITS = {"f32": 32, "i32": 32, "f64": 64, "i64": 64}
_LOADED = frozenset({"f16", "i8", "i16", *_BITS})
_ADDITIONS = ("arith.addf", "arith.addi")
_VECTOR = 256


@register_pass
@dataclass(frozen=True)
class VectorScans:
    """Rewrite loops that add up what lies side by side, and store the sums on the way.

    Products stay as they are: in another order, numbers that are large and small in turns overflow.
    """

    name: ClassVar[str] = "vector-scans"
    bits: int = _VECTOR
    """Width of a vector register."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite the loops of every function of `module`, on buffers."""
        loops = [op for op in operations_named(module, "scf.for") if op.parent.name == "func.func"]
        found = [each for loop in loops if (each := _plan(loop, self.bits)) is not None]
        for each in found:
            each.emit()
        for each in found:
            each.scan.loop.erase()


@dataclass(frozen=True)
class _Line:
    """The contiguous elements that iterations read or write, one after the other.

    Attributes:
        memory: a memref.
        first: for every dimension, the index in the first iteration: a value and what is added.
        step: how far one iteration moves on, 1 or -1.
    """

    memory: ir.Value
    first: tuple[tuple[ir.Value | None, int], ...]
    step: int

    def start(self) -> ir.Value:
        """Emit the element of the first iteration, in a flat view of the memory."""
        steps = sized_strides(ir.MemRefType(self.memory.type))
        total = index(sum(added * step for (_, added), step in zip(self.first, steps, strict=True)))
        for (value, _), step in zip(self.first, steps, strict=True):
            if value is not None:
                total = plus(total, integers.muli(value, index(step)))
        return total


def _plan(whole: ir.Operation, bits: int) -> _Scan | None:
    """Return how loops become a scan in vectors; None where they are none."""
    stores = operations_named(whole, "memref.store")
    loop = stores[0].parent if len(stores) == 1 else None
    if loop is None or loop.name != "scf.for":
        return None
    scan = scan_of(loop, whole)
    if scan is None or scan.combine.name not in _ADDITIONS:
        return None
    kind = str(scan.combine.results[0].type)
    lanes = bits // _BITS.get(kind, bits)
    target = _line(scan.store, 1, loop)
    if isinstance(scan.length, Size):  # what is left of it would be another loop for each size
        return None
    if lanes < 2 or scan.length < lanes or target is None:
        return None
    elements = dict(_elements(scan.element, loop))
    if any(line is None or line.step != target.step for line in elements.values()):
        return None
    return _Scan(scan, lanes, target, {op: line for op, line in elements.items() if line})


def _elements(value: ir.Value, loop: ir.Operation) -> Iterator[tuple[ir.Operation, _Line | None]]:
    """Yield what `value` is computed from in `loop`; None with what vectors cannot compute."""
    op = owner_of(value)
    if op is None or op.parent != loop:
        is_number = op is None and value == number_of(loop)
        if is_number:
            yield loop, None
        return
    if op.name == "memref.load":
        kind = str(op.results[0].type)
        yield op, _line(op, 0, loop) if kind in _LOADED else None
    elif not op.name.startswith("arith.") or "index" in map(_kind, (*op.operands, *op.results)):
        yield op, None
    else:
        for operand in op.operands:
            yield from _elements(operand, loop)


def _kind(value: ir.Value) -> str:
    return str(value.type)


def _line(op: ir.Operation, memory: int, loop: ir.Operation) -> _Line | None:
    """Return where a load or store moves, whose operand `memory` is the memref."""
    buffer, *places = list(op.operands)[memory:]
    if not has_static_layout(buffer):
        return None
    steps = sized_strides(ir.MemRefType(buffer.type))
    first: list[tuple[ir.Value | None, int]] = []
    moved = 0
    for place, step in zip(places, steps, strict=True):
        linear = linear_in(place, number_of(loop))
        if linear is not None:
            moved += linear[0] * step
            first.append((None, linear[1]))
        elif (owner := owner_of(place)) is not None and owner.parent == loop:
            return None
        else:
            first.append((place, 0))
    return _Line(buffer, tuple(first), moved) if moved in (1, -1) else None


@dataclass(frozen=True)
class _Scan:
    """A scan that becomes vectors.

    Attributes:
        scan: the loop.
        lanes: elements of a vector.
        target: where sums are stored.
        elements: where each load of the loop reads.
    """

    scan: Scan
    lanes: int
    target: _Line
    elements: Mapping[ir.Operation, _Line]

    def emit(self) -> None:
        """Emit the loop over vectors before that over elements, and what is left of the row."""
        loop, lanes, length = self.scan.loop, self.lanes, self.scan.length
        with loop.context, loop.location, ir.InsertionPoint(loop):
            lines = {line: (flattened(line.memory), line.start()) for line in self._lines()}
            before = broadcast(self.scan.start, lanes)
            built = carrying_loop(length // lanes, [before])
            with ir.InsertionPoint(built.body):
                first = integers.muli(built.induction_variable, index(lanes))
                scf.YieldOp([self._vector(lines, first, built.inner_iter_args[0])])
            before, done = built.results[0], length - length % lanes
            while done < length:
                while lanes > length - done:
                    lanes //= 2
                before = self._vector(lines, index(done), broadcast(lane_of(before, 0), lanes))
                done += lanes

    def _lines(self) -> list[_Line]:
        return list(dict.fromkeys([self.target, *self.elements.values()]))

    def _vector(
        self, lines: Mapping[_Line, tuple[ir.Value, ir.Value]], first: ir.Value, before: ir.Value
    ) -> ir.Value:
        """Emit iterations from `first` on; returns what they and all before come to.

        Args:
            lines: a flat view of the memory of each line, and where it starts.
            first: the number of the first one.
            before: what there is before them, in every lane.
        """
        lanes, adds = ir.VectorType(before.type).shape[0], self.scan.combine

        def places(line: _Line) -> list[ir.Value]:
            memory, start = lines[line]
            if line.step > 0:
                return [memory, plus(start, first)]
            return [memory, arith.subi(arith.subi(start, first), index(lanes - 1))]

        known: dict[ir.Value, ir.Value] = {}
        for op, line in self.elements.items():
            kind = ir.VectorType.get([lanes], op.results[0].type)
            known[op.results[0]] = emit("vector.load", places(line), kind)
        own = self._within(self._element(self.scan.element, known, lanes))
        sums = combine(adds, before, own)
        last = self._order([lanes - 1] * lanes)
        after = combine(adds, before, _shuffled(own, own, [last[0]] * lanes))
        if not self.scan.is_inclusive:
            sums = _shuffled(sums, before, self._order([lanes, *range(lanes - 1)]))
        ir.Operation.create("vector.store", operands=[sums, *places(self.target)])
        return after

    def _within(self, value: ir.Value) -> ir.Value:
        """Add up the elements of a vector, each with those of the iterations before it."""
        lanes = ir.VectorType(value.type).shape[0]
        neutral, size = identity(self.scan.combine, lanes), 1
        while size < lanes:
            mask = [
                lane // size * size - 1 if lane // size % 2 else lanes + lane
                for lane in range(lanes)
            ]
            moved = _shuffled(value, neutral, self._order(mask))
            value, size = combine(self.scan.combine, moved, value), 2 * size
        return value

    def _order(self, mask: Sequence[int]) -> list[int]:
        """Return a mask of iterations as one of lanes: the first iteration may be the last lane."""
        if self.target.step > 0:
            return list(mask)
        lanes = len(mask)
        turned = [each - each % lanes + lanes - 1 - each % lanes for each in mask]
        return turned[::-1]

    def _element(self, value: ir.Value, known: dict[ir.Value, ir.Value], lanes: int) -> ir.Value:
        """Emit what is added, given vectors of what is loaded."""
        op = owner_of(value)
        if value not in known and (op is None or op.parent != self.scan.loop):
            known[value] = broadcast(value, lanes)
        elif value not in known and op is not None:
            known[value] = self._computed(op, known, lanes)
        return known[value]

    def _computed(self, op: ir.Operation, known: dict[ir.Value, ir.Value], lanes: int) -> ir.Value:
        kind = ir.VectorType.get([lanes], op.results[0].type)
        attributes = dict(op.attributes.items())
        if op.name == "arith.constant":
            attributes["value"] = ir.DenseElementsAttr.get_splat(kind, attributes["value"])
        operands = [self._element(each, known, lanes) for each in op.operands]
        return emit(op.name, operands, kind, **attributes)


def _shuffled(first: ir.Value, second: ir.Value, mask: Sequence[int]) -> ir.Value:
    lanes = ir.DenseI64ArrayAttr.get(list(mask))
    return emit("vector.shuffle", [first, second], first.type, mask=lanes)
