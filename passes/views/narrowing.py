# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes only the part of a tensor that a slice takes, where nothing reads the rest.

Slices are taken from the last to the first, and move up: the operation in front computes the part
and reads slices of its operands, which may then be the only readers of those.
"""

from __future__ import annotations

from math import prod

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.views import RESHAPES, TENSOR_VIEWS
from xyntra.passes.views.slicing import Spans, slice_of_insertion, slice_of_reshape
from xyntra.passes.views.structured import Interned, Item, Structured, body_uses
from xyntra.passes.views.tensors import MadeOperations, retyped

_NORMS = frozenset({"xyntra.layer_norm", "xyntra.rms_norm"})
_SOFTMAX = frozenset({"xyntra.softmax", "xyntra.log_softmax"})
_ROW_OPS = _NORMS | _SOFTMAX | {"xyntra.gelu", "xyntra.silu"}
_WORTH = 0.75
"""Largest part of a tensor that is computed alone: less saved is not worth odd sizes."""
_MAX_DEPTH = 8
"""Operations to look ahead."""

Shape = tuple[int, ...]
Parts = dict[int, Spans]
"""What an operation needs of its operands, by position, where that is not all."""


class Narrowing:
    """The rewriting of one block."""

    def __init__(self, block: ir.Block) -> None:
        self.block = block
        self.interned = Interned()
        self.destinations: dict[ir.Operation, None] = {}
        self.slices: dict[tuple[ir.Value, Spans], ir.Operation] = {}
        self.dead: dict[ir.Operation, None] = {}

    def run(self) -> None:
        """Rewrite the block."""
        ops = [view.operation for view in self.block.operations]
        stack = [op for op in ops if op.name == "tensor.extract_slice" and len(op.operands) == 1]
        while stack:
            op = stack.pop()
            if op not in self.dead:
                stack += self._narrow(op)
        for op in [*self.dead, *reversed(self.destinations)]:
            if all(next(iter(result.uses), None) is None for result in op.results):
                op.erase()

    def _narrow(self, op: ir.Operation) -> list[ir.Operation]:
        """Move the slice `op` in front of the producer of what it reads; the slices then there."""
        source, spans = op.operands[0], Spans.of(op)
        shape = self.interned.shape_of(source)
        if shape is None or isinstance(source.owner, ir.Block):
            return []
        producer = source.owner.operation
        passed = self._passed(producer, shape, spans)
        if passed is not None:
            value, part = passed
            if not self._saves(source, op, 0) and producer.name != "tensor.insert_slice":
                return []
            piece = self._slice(value, part, op)
            self._replace(op, value if piece is None else piece.results[0])
            return [] if piece is None else [piece]
        small = prod(spans.sizes) <= _WORTH * prod(shape) and set(spans.steps) == {1}
        if not small or not self._saves(source, op, 0):
            return []
        parts = self._parts(producer, shape, spans)
        if parts is None or not self._shrink(producer, spans.sizes):
            return []
        made = []
        for position, part in parts.items():
            piece = self._slice(producer.operands[position], part, producer)
            if piece is not None:
                producer.operands[position] = piece.results[0]
                made.append(piece)
        self.slices = {key: slice_ for key, slice_ in self.slices.items() if slice_ != op}
        self._replace(op, source)
        return made

    def _passed(
        self, op: ir.Operation, shape: Shape, spans: Spans
    ) -> tuple[ir.Value, Spans] | None:
        """A slice of what `op` shows, as a slice of what it reads; None if it computes."""
        before = self.interned.shape_of(op.operands[0]) if len(op.operands) else None
        if before is None:
            return None
        if op.name in RESHAPES:
            part = slice_of_reshape(before, shape, spans)
            return None if part is None else (op.operands[0], part)
        if op.name == "tensor.insert_slice" and len(op.operands) == 2:
            found = slice_of_insertion(before, shape, Spans.of(op), spans)
            return None if found is None else (op.operands[found[0]], found[1])
        if op.name != "tensor.extract_slice" or len(op.operands) != 1 or len(before) != len(shape):
            return None
        return op.operands[0], Spans.of(op).part(spans)

    def _saves(self, value: ir.Value, reader: ir.Operation, depth: int) -> bool:
        """Whether work is saved, and no kernel parted, if only a part of `value` is computed."""
        if isinstance(value.owner, ir.Block) or depth > _MAX_DEPTH:
            return False
        op = value.owner.operation
        readers = (use.owner.operation for use in value.uses)
        if len(op.results) != 1 or any(r != reader and r not in self.dead for r in readers):
            return False
        if op.name in RESHAPES or op.name == "tensor.extract_slice":
            return self._saves(op.operands[0], op, depth + 1)
        if op.name != "linalg.generic" or any(self.interned.reductions_of(op)):
            return op.name in ("linalg.generic", "xyntra.attention", *_ROW_OPS)
        shape = self.interned.shape_of(value)
        inputs = list(op.operands)[:-1]
        full = [operand for operand in inputs if self.interned.shape_of(operand) == shape]
        computed = [operand for operand in full if not isinstance(operand.owner, ir.Block)]
        return not computed or any(self._saves(operand, op, depth + 1) for operand in computed)

    def _parts(self, op: ir.Operation, shape: Shape, spans: Spans) -> Parts | None:
        """Return what `op` needs of its operands to give `spans` of its result; None if unknown."""
        if op.name in _ROW_OPS:
            return _parts_of_row_op(op, shape, spans)
        if op.name not in ("linalg.generic", "xyntra.attention"):
            return None
        structured = Structured(op, self.interned)
        cut = _cut_loops(structured, shape, spans)
        if cut is None:
            return None
        parts: Parts = {}
        for number in range(structured.inputs):
            map_ = structured.maps[number]
            whole = self.interned.shape_of(op.operands[number])
            if whole is None or any(_depends(item, cut) for item in map_):
                return None
            sources = [cut.get(item) if isinstance(item, int) else None for item in map_]
            if any(source is not None for source in sources):
                parts[number] = spans.gathered(sources, whole)
        return parts

    def _shrink(self, op: ir.Operation, shape: Shape) -> bool:
        """Give `op` a result of `shape`; False if that cannot be."""
        if op.name == "linalg.generic":
            last = len(op.operands) - 1
            # Of its own for each operation: the order of the block is walked backwards.
            tensors = MadeOperations()
            made = tensors.destination(op.operands[last], shape, op)
            if made is None:
                return False
            op.operands[last] = made
            self.destinations |= tensors.replaced
        elif op.name == "xyntra.attention":
            sizes = list(op.attributes["sizes"])
            for item, size in zip(self.interned.maps_of(op).items[-1], shape, strict=True):
                if isinstance(item, int):
                    sizes[item] = size
            op.attributes["sizes"] = ir.DenseI64ArrayAttr.get(sizes, op.context)
        with op.location:
            op.results[0].set_type(retyped(op.results[0].type, shape))
        return True

    def _slice(self, value: ir.Value, spans: Spans, reader: ir.Operation) -> ir.Operation | None:
        """The slice `spans` of `value`, right behind what defines it; None if that is all of it."""
        if spans.sizes == tuple(value.type.shape):
            return None
        key = value, spans
        if key not in self.slices:
            is_argument = isinstance(value.owner, ir.Block)
            first = next(iter(self.block.operations)).operation
            before = first if is_argument else value.owner.operation
            builder = TensorBuilder(ir.InsertionPoint(before), reader.location)
            tensor = Tensor.of(value)
            op = builder.slice(tensor, spans.starts, spans.sizes, spans.steps).value.owner.operation
            if not is_argument:
                op.move_after(before)
            self.slices[key] = op
        return self.slices[key]

    def _replace(self, op: ir.Operation, value: ir.Value) -> None:
        """Let the readers of the slice `op` read `value`."""
        shape = tuple(op.results[0].type.shape)
        source = op.operands[0]
        op.results[0].replace_all_uses_with(MadeOperations().reshape(value, shape, op))
        self.dead[op] = None
        views = [source]
        while views:
            owner = views.pop().owner
            if isinstance(owner, ir.Block) or owner.operation.name not in TENSOR_VIEWS:
                continue
            readers = {use.owner.operation for use in owner.operation.results[0].uses}
            if owner.operation not in self.dead and readers <= self.dead.keys():
                self.dead[owner.operation] = None
                views.append(owner.operation.operands[0])


def _cut_loops(structured: Structured, shape: Shape, spans: Spans) -> dict[int, int] | None:
    """The loops that a slice of the result shortens, with the result's dimensions that they are."""
    op = structured.op
    cut: dict[int, int] = {}
    for position, item in enumerate(structured.maps[-1]):
        if spans.sizes[position] == shape[position]:
            continue
        if not isinstance(item, int):
            return None
        cut[item] = position
    if op.name == "xyntra.attention":
        return None if op.attributes["causal"].value else cut
    if structured.outputs != 1 or body_uses(op, "linalg.index"):
        return None
    return cut


def _parts_of_row_op(op: ir.Operation, shape: Shape, spans: Spans) -> Parts | None:
    cut = [d for d, size in enumerate(shape) if spans.sizes[d] != size]
    axis = op.attributes["axis"].value if "axis" in op.attributes else len(shape)
    if op.name in _SOFTMAX:
        return None if axis in cut else {0: spans}
    others = list(op.operands)[1:]
    trailing = all(len(value.type.shape) <= len(shape) - axis for value in others)
    return {0: spans} if trailing and all(d < axis for d in cut) else None


def _depends(item: Item, loops: dict[int, int]) -> bool:
    """Tell whether an expression other than a single loop has one of `loops` in it."""
    if item is None or isinstance(item, int):
        return False
    if isinstance(item, ir.AffineDimExpr):
        return item.position in loops
    if isinstance(item, ir.AffineBinaryExpr):
        return _depends(item.lhs, loops) or _depends(item.rhs, loops)
    return False
