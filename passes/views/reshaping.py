# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rewrites a block so that neighbouring operations run over the same, fewest, dimensions.

One sweep in the order of the block. An operation that reads an expand_shape of what another
computes joins the loops that the expansion had parted, if all its maps allow that, and its result
is expanded instead. So expansions move towards the end, meet the reshapes that undo them, or stay
where a reader needs the dimensions apart.
"""

from __future__ import annotations

from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.views.layout import Layout, reading
from xyntra.passes.views.loop_runs import (
    JoinedNest,
    LoopNest,
    Run,
    Shape,
    can_join,
    joined_nest,
    joined_positions,
    runs_of,
)
from xyntra.passes.views.structured import Interned, Structured, body_uses
from xyntra.passes.views.tensors import MadeOperations, retyped

_SOFTMAX = frozenset({"xyntra.softmax", "xyntra.log_softmax"})
_NORMS = frozenset({"xyntra.layer_norm", "xyntra.rms_norm"})
_POINTWISE = frozenset({"xyntra.gelu", "xyntra.silu"})
_ROW_OPS = _SOFTMAX | _NORMS | _POINTWISE


class Reshaping:
    """The rewriting of one block."""

    def __init__(self, block: ir.Block) -> None:
        self.block = block
        self.interned = Interned()
        self.tensors = MadeOperations()
        self.roots: dict[ir.Value, ir.Value] = {}
        self.shapes: dict[ir.Value, Shape] = {}
        self.passed: list[ir.Operation] = []
        self.affected: set[ir.Operation] = set()

    def run(self) -> None:
        """Rewrite the block."""
        for view in list(self.block.operations):
            op = view.operation
            name = op.name
            if name in RESHAPES:
                self._visit_reshape(op)
            elif not self.affected or op not in self.affected:
                continue
            elif name == "linalg.generic":
                self._visit_generic(op)
            elif name in _ROW_OPS:
                self._visit_row_op(op)
            else:
                self._update(op)
        for op in [*reversed(self.passed), *reversed(self.tensors.replaced)]:
            if all(next(iter(result.uses), None) is None for result in op.results):
                op.erase()

    def _note_root(self, value: ir.Value, root: ir.Value) -> None:
        self.roots[value] = root
        self.affected.update(use.owner.operation for use in value.uses)

    def _shape(self, value: ir.Value) -> Shape | None:
        """The shape in which the readers of `value` see it."""
        return self.shapes[value] if value in self.shapes else self.interned.shape_of(value)

    def _visit_reshape(self, op: ir.Operation) -> None:
        source, result = op.operands[0], op.results[0]
        shape = self.interned.shape_of(result)
        if shape is None or self._shape(source) is None or _is_captured(op, self.block):
            self._update(op)
            return
        root = self.roots.get(source, source)
        self._note_root(result, root)
        self.passed.append(op)
        if source in self.shapes:
            # What it reads has another shape now: it is made anew where it is needed.
            self.shapes[result] = shape
        else:
            self.tensors.note_reshape(root, result, shape)

    def _update(self, op: ir.Operation) -> None:
        """Let `op` read the tensors that it reads in the shapes that it knows them in."""
        for position, value in enumerate(op.operands):
            if value in self.roots:
                current = self._current(value, op)
                if current != value:
                    op.operands[position] = current

    def _current(self, value: ir.Value, before: ir.Operation) -> ir.Value:
        """`value` in the shape in which its readers know it."""
        shape = self._shape(value)
        root = self.roots.get(value)
        if root is None or shape is None:
            return value
        if value in self.shapes or shape == tuple(root.type.shape):
            return self.tensors.reshape(root, shape, before)
        return value

    def _visit_generic(self, op: ir.Operation) -> None:
        structured = Structured(op, self.interned)
        joined = self._joined(structured)
        if joined is not None:
            self._join(structured, joined)
        reductions = any(structured.reductions)
        for number, value in enumerate(list(op.operands) if joined is None else []):
            if value not in self.roots:
                continue
            foldable = number < structured.inputs and not (reductions and structured.inputs > 1)
            if foldable and self._drop_units(structured, number):
                continue
            current = self._current(value, op)
            if current != value:
                structured.set_operand(number, current, structured.maps[number])
        structured.commit()

    def _drop_units(self, structured: Structured, number: int) -> bool:
        """Read the tensor that an operand is, but for dimensions of size 1, an expansion of."""
        value = structured.operands[number]
        root, shape = self.roots[value], self._shape(value)
        if shape is None or not _is_computed(root) or len(root.type.shape) >= len(shape):
            return False
        base = tuple(root.type.shape)
        layout = Layout.row_major(base).reshaped(shape)
        read = reading(layout, base) if layout is not None else None
        if read is None or read.shape != base:
            return False
        map_ = structured.maps[number]
        return structured.set_operand(
            number, root, tuple(None if i is None else map_[i] for i in read.sources)
        )

    def _joined(self, structured: Structured) -> JoinedNest | None:
        """The loops after joining those that can be, if there are any and it pays."""
        op = structured.op
        shapes = tuple(self._shape(value) for value in structured.operands)
        known = tuple(shape for shape in shapes if shape is not None)
        if not structured.simple or structured.outputs != 1 or len(known) < len(shapes):
            return None
        nest = LoopNest(tuple(structured.maps), known, structured.reductions)
        runs: list[Run] = []
        gained: set[ir.Value] = set()
        for number, value in enumerate(structured.operands):
            found = self._runs_read(value, nest, number)
            found = [run for run in found if run in runs or _is_apart(run, runs)]
            if found:
                gained.add(value)
                runs += [run for run in found if run not in runs]
        if not gained or _is_captured(op, self.block) or body_uses(op, "linalg.index"):
            return None
        joined = joined_nest(nest, tuple(runs))
        lost = {
            value
            for number, value in enumerate(structured.operands[: structured.inputs])
            if value not in self.roots
            and joined.operands[number].shape != known[number]
            and _is_computed(value)
        }
        return joined if len(gained) >= len(lost) else None

    def _runs_read(self, value: ir.Value, nest: LoopNest, number: int) -> list[Run]:
        """The loops that the expansion which an operand comes from parts, where they can join."""
        root, shape = self.roots.get(value), nest.shapes[number]
        if root is None or not _is_computed(root):
            return []
        narrow = tuple(root.type.shape)
        if len(narrow) >= len(shape):
            return []
        runs = runs_of(nest.maps[number], joined_positions(shape, narrow))
        return [run for run in runs if can_join(nest, run)]

    def _join(self, structured: Structured, joined: JoinedNest) -> None:
        op = structured.op
        for number, value in enumerate(structured.operands):
            operand = joined.operands[number]
            if operand.shape == self._shape(value):
                structured.operands[number] = self._current(value, op)
            elif number < structured.inputs:
                root = self.roots.get(value, value)
                structured.operands[number] = self.tensors.reshape(root, operand.shape, op)
            else:
                structured.operands[number] = self._destination(value, operand.shape, op)
            structured.set_map(number, operand.map_)
        structured.keep_loops(joined.kept)
        self._note_shape(op, joined.operands[-1].shape)

    def _destination(self, value: ir.Value, shape: Shape, before: ir.Operation) -> ir.Value:
        made = self.tensors.destination(value, shape, before)
        root = self.roots.get(value, value)
        return self.tensors.reshape(root, shape, before) if made is None else made

    def _note_shape(self, op: ir.Operation, shape: Shape) -> None:
        """Give the result of `op` another shape."""
        result = op.results[0]
        old = tuple(result.type.shape)
        if old == shape:
            return
        with op.location:
            result.set_type(retyped(result.type, shape))
        self.shapes[result] = old
        self._note_root(result, result)

    def _visit_row_op(self, op: ir.Operation) -> None:
        value = op.operands[0]
        root, shape = self.roots.get(value), self._shape(value)
        self._update(op)
        if root is None or shape is None or not _is_computed(root):
            return
        axis = op.attributes["axis"].value if "axis" in op.attributes else len(shape)
        groups = joined_positions(shape, tuple(root.type.shape))
        groups = [group for group in groups if _can_join(op.name, group, axis)]
        if not groups or _is_captured(op, self.block) or not _are_trailing(op, axis):
            return
        narrow = _joined_shape(shape, groups)
        op.operands[0] = self.tensors.reshape(root, narrow, op)
        if "axis" in op.attributes:
            before = sum(len(group) - 1 for group in groups if group[-1] < axis)
            type_ = op.attributes["axis"].type
            op.attributes["axis"] = ir.IntegerAttr.get(type_, axis - before)
        self._note_shape(op, narrow)


def _is_apart(run: Run, runs: list[Run]) -> bool:
    return not any(set(run) & set(other) for other in runs)


def _can_join(name: str, group: list[int], axis: int) -> bool:
    """Tell whether a row op may see a group of dimensions as one."""
    if name in _NORMS:
        return group[-1] < axis
    return name in _POINTWISE or axis not in group


def _are_trailing(op: ir.Operation, axis: int) -> bool:
    """Tell whether scale and bias of a row op only have dimensions that it reduces."""
    rank = len(op.results[0].type.shape)
    return all(len(value.type.shape) <= rank - axis for value in list(op.operands)[1:])


def _joined_shape(shape: Shape, groups: list[list[int]]) -> Shape:
    heads = {group[0]: group for group in groups}
    inside = {position for group in groups for position in group[1:]}
    return tuple(
        prod(shape[i] for i in heads.get(position, [position]))
        for position in range(len(shape))
        if position not in inside
    )


def _is_computed(value: ir.Value) -> bool:
    """Tell whether an operation that could share a kernel computes `value`."""
    if isinstance(value.owner, ir.Block):
        return False
    name = value.owner.operation.name
    return bool(name.startswith(("linalg.", "xyntra."))) and name != "linalg.fill"


def _is_captured(op: ir.Operation, block: ir.Block) -> bool:
    return any(use.owner.operation.block != block for use in op.results[0].uses)
