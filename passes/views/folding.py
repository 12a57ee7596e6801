# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rewrites a block so that transposed and broadcast tensors are read through indexing maps.

One sweep in the order of the block. A transpose is not done but noted, as the layout of its result
in the tensor that it reads; reshapes and further transposes compose with it. An operation with
indexing maps then reads the original tensor. Where a reader cannot, its producer writes the wanted
order if it can, and else the copy is made where it is read first.
"""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.recognize.packed_weights import packed_product_of
from xyntra.passes.targets.target import Target
from xyntra.passes.views.channels.wants import ANY_ORDER, Order, Wants, keeps_rows
from xyntra.passes.views.computed_reads import extract_of, extracts_in, loop_of, read_through
from xyntra.passes.views.layout import Layout, Reading, reading
from xyntra.passes.views.movers import Sources, is_copy, move_of
from xyntra.passes.views.placing import ENLARGING, is_destination, permute, placed
from xyntra.passes.views.resampling import fold_resampling
from xyntra.passes.views.slicing import Spans, slice_of_base
from xyntra.passes.views.sliding_windows import mixes_channels_last, writes_channel_vectors
from xyntra.passes.views.structured import Interned, Map, Structured, identity
from xyntra.passes.views.tensors import MadeOperations, retyped

_CHAIN = 8  # operations that follow a convolution, and are looked at


@dataclass(frozen=True)
class View:
    """A tensor as a view of another.

    Attributes:
        base: the tensor that is viewed.
        layout: where the elements lie in it.
        moves: operations between the two that copy.
        intact: whether the operation that defines the tensor can stay as it is.
    """

    base: ir.Value
    layout: Layout
    moves: int = 0
    intact: bool = True


class Folding:
    """The rewriting of one block."""

    def __init__(self, block: ir.Block, target: Target) -> None:
        self.block = block
        self.target = target
        self.interned = Interned()
        self.tensors = MadeOperations()
        self.views: dict[ir.Value, View] = {}
        self.passed: list[ir.Operation] = []
        self.moves: dict[ir.Operation, Sources] = {}
        self.wants = Wants(block, self.interned, self.moves)
        self.orders: dict[ir.Value, Order] = {}
        self.affected: set[ir.Operation] = set()
        self.captures: dict[ir.Operation, list[tuple[ir.Operation, int]]] = {}
        self.replaced_reads: list[ir.Operation] = []
        self.packed: set[ir.Operation] = set()

    def run(self) -> None:
        """Rewrite the block."""
        # First, since it builds operations to compare with: what reads packed weights reads them,
        # and their scales, in the order that its lowering expects.
        ops = [view.operation for view in self.block.operations]
        generics = (op for op in ops if op.name == "linalg.generic")
        self.packed.update(op for op in generics if packed_product_of(op))
        copies = [op for op in ops if is_copy(op, self.interned)]
        for op in copies:
            sources = move_of(op, self.interned)
            if sources is not None and not _is_captured(op, self.block):
                self.moves[op] = sources
        others = [op for op in copies if op not in self.moves]
        if self.moves:
            self._fold(ops)
        fold_resampling(others, self.block, self.interned)

    def _fold(self, ops: list[ir.Operation]) -> None:
        self.affected.update(self.moves)
        self._find_orders()
        for op in ops:
            if op in self.affected:
                self._visit(op)
        self._erase_unused()

    def _find_orders(self) -> None:
        """Find the tensors that are better stored in another order, from the copies upwards."""
        stack = [op.operands[0] for op in self.moves]
        seen: set[ir.Value] = set()
        while stack:
            value = stack.pop()
            if value in seen or isinstance(value.owner, ir.Block):
                continue
            seen.add(value)
            op = value.owner.operation
            if op.name in RESHAPES or op.name == "tensor.extract_slice":
                self.affected.add(op)
                stack.append(op.operands[0])
                continue
            order = self.wants.of(value).order
            if order is None or order == identity(len(order)) or op in self.moves:
                continue
            if self._is_computed_channels_last(op):
                continue
            self.orders[value] = order
            self.affected.add(op)
            if op.name == "linalg.generic" and not any(self.interned.reductions_of(op)):
                stack += op.operands
                stack += [extract.operands[0] for extract in extracts_in(op)]
            elif op.name in ANY_ORDER:
                stack.append(op.operands[0])
            elif op.name in ENLARGING:
                stack += op.operands

    def _is_computed_channels_last(self, op: ir.Operation, depth: int = _CHAIN) -> bool:
        """Tell whether `op` is a convolution whose output channels lie side by side, or follows it.

        Its vectors are of channels: in another order it stores them one number at a time. What
        follows it element by element is computed with it as long as it keeps to that order. A
        copy of the last, and narrowest, result then costs less than one of the sums.
        """
        if op.name in RESHAPES:
            source = op.operands[0].owner
            is_op = not isinstance(source, ir.Block) and depth > 0
            return is_op and self._is_computed_channels_last(source.operation, depth - 1)
        if op.name != "linalg.generic":
            return False
        if any(self.interned.reductions_of(op)):
            by_channel = not self.target.is_simt and writes_channel_vectors(op, self.interned)
            return by_channel or mixes_channels_last(op, self.interned)
        maps = self.interned.maps_of(op)
        plain, size = identity(maps.loops), self.interned.shape_of(op.results[0])
        whole = [
            (value.owner, items)
            for value, items in zip(op.operands, maps.items[: -len(op.results)], strict=False)
            if len(items) == maps.loops and self.interned.shape_of(value) == size
        ]
        return (
            depth > 0
            and all(items == plain for _, items in whole)
            and any(
                self._is_computed_channels_last(owner.operation, depth - 1)
                for owner, _ in whole
                if not isinstance(owner, ir.Block)
            )
        )

    def _erase_unused(self) -> None:
        for extract in self.replaced_reads:
            extract.erase()
        for op in reversed(self.passed):
            owner = op.operands[len(op.operands) - 1].owner
            if not isinstance(owner, ir.Block) and owner.operation.name == "tensor.empty":
                self.tensors.replaced[owner.operation] = None
        for op in [*reversed(self.passed), *reversed(self.tensors.replaced)]:
            if all(next(iter(result.uses), None) is None for result in op.results):
                op.erase()

    def _visit(self, op: ir.Operation) -> None:
        name = op.name
        if name != "linalg.generic":
            self._visit_body(op)
        if op in self.moves:
            self._visit_move(op)
        elif name in RESHAPES:
            self._visit_reshape(op)
        elif name == "tensor.extract_slice" and op.operands[0] in self.views:
            self._visit_slice(op)
        elif name in ANY_ORDER and op.operands[0] in self.views:
            self._visit_any_order(op)
        elif name in ENLARGING and self._is_placed(op):
            self._visit_enlarging(op, self.orders[op.results[0]])
        elif op in self.packed:
            self._visit_other(op)
        elif name == "linalg.generic" or (
            name.startswith("xyntra.") and "indexing_maps" in op.attributes
        ):
            self._visit_structured(op)
        else:
            self._visit_other(op)

    def _visit_body(self, op: ir.Operation, inner: int | None = None) -> None:
        """Let operations in the body of `op` index tensors that are as they know them.

        Along loop `inner`, if there is one, the result of `op` is contiguous.
        """
        for holder, position in self.captures.pop(op, ()):
            value = holder.operands[position]
            read = self._direct_reading(holder, position, inner)
            if read is not None:
                base = self.tensors.reshape(self.views[value].base, read.shape, op)
                read_through(holder, base, read.sources)
                self.replaced_reads.append(holder)
                continue
            replacement = self._value(value, op)
            if replacement != value:
                holder.operands[position] = replacement

    def _direct_reading(
        self, holder: ir.Operation, position: int, inner: int | None
    ) -> Reading | None:
        """How `holder` reads a view in a body; None where a copy of it should be read instead.

        Reads of neighbours are reads of neighbours of the viewed tensor, too.
        """
        view = self.views[holder.operands[position]]
        if inner is None or position or holder.name != "tensor.extract" or view.layout.is_row_major:
            return None
        read = reading(view.layout, tuple(view.base.type.shape))
        if read is None:
            return None
        moving = [source for source, size in zip(read.sources, read.shape, strict=True) if size > 1]
        if not moving or moving[-1] is None:
            return None
        return read if loop_of(holder.operands[1 + moving[-1]]) == inner else None

    def _note(self, value: ir.Value, view: View) -> None:
        self.views[value] = view
        for use in value.uses:
            holder = op = use.owner.operation
            while op.block != self.block:
                op = op.parent.operation
            self.affected.add(op)
            if op != holder:
                self.captures.setdefault(op, []).append((holder, use.operand_number))

    def _view_of(self, value: ir.Value) -> View | None:
        if value in self.views:
            return self.views[value]
        shape = self.interned.shape_of(value)
        return None if shape is None else View(value, Layout.row_major(shape))

    def _visit_move(self, op: ir.Operation) -> None:
        view = self._view_of(op.operands[0])
        shape = self.interned.shape_of(op.results[0])
        if view is None or shape is None:
            return
        layout = view.layout.gathered(self.moves[op], shape)
        intact = view.intact and not view.moves
        self._note(op.results[0], View(view.base, layout, view.moves + 1, intact))
        self.passed.append(op)

    def _visit_reshape(self, op: ir.Operation) -> None:
        view = self._view_of(op.operands[0])
        shape = self.interned.shape_of(op.results[0])
        layout = view.layout.reshaped(shape) if view and shape is not None else None
        if view is None or shape is None or layout is None:
            self._visit_other(op)
            return
        self.passed.append(op)
        if view.layout.is_row_major and view.intact and not view.moves:
            self.tensors.note_reshape(view.base, op.results[0], shape)
        self._note(op.results[0], View(view.base, layout, view.moves, view.intact))

    def _visit_slice(self, op: ir.Operation) -> None:
        view = self.views[op.operands[0]]
        shape = self.interned.shape_of(op.results[0])
        cut = None
        if shape is not None and len(op.operands) == 1 and not view.layout.is_row_major:
            cut = slice_of_base(view.layout, tuple(view.base.type.shape), Spans.of(op), shape)
        if cut is None:
            self._visit_other(op)
            return
        base = self.tensors.slice(self.tensors.reshape(view.base, cut.base, op), cut.spans, op)
        self._note(op.results[0], View(base, cut.layout, view.moves, intact=False))
        self.passed.append(op)

    def _visit_any_order(self, op: ir.Operation) -> None:
        view = self.views[op.operands[0]]
        shape = tuple(op.results[0].type.shape)
        read = reading(view.layout, tuple(view.base.type.shape))
        if read is None or view.layout.is_row_major or view.layout.has_broadcast:
            self._visit_other(op)
            return
        used = [source for source in read.sources if source is not None]
        units = tuple(d for d in range(len(shape)) if d not in used)
        order = self.wants.of(op.results[0]).order or (*units, *used)
        stored = tuple(shape[d] for d in order)
        if not view.layout.gathered(order, stored).is_row_major or not keeps_rows(op, order):
            self._visit_other(op)
            return
        op.operands[0] = self.tensors.reshape(view.base, stored, op)
        with op.location:
            op.results[0].set_type(retyped(op.results[0].type, stored))
            if "axis" in op.attributes:
                i64 = ir.IntegerType.get_signless(64)
                axis = order.index(op.attributes["axis"].value)
                op.attributes["axis"] = ir.IntegerAttr.get(i64, axis)
        self._note_order(op.results[0], order, shape)

    def _is_placed(self, op: ir.Operation) -> bool:
        """Tell whether a padding or an insertion can be stored in the order that is wanted."""
        is_wanted = op.results[0] in self.orders and bool(placed(op))
        return is_wanted and all(self.interned.shape_of(value) for value in op.operands)

    def _visit_enlarging(self, op: ir.Operation, order: Order) -> None:
        """Let a padding or an insertion, and what it reads, be stored in `order`."""
        result = op.results[0]
        shape = tuple(result.type.shape)
        for number, value in enumerate(list(op.operands)):
            op.operands[number] = self._in_order(value, order, op)
        permute(op, order)
        with op.location:
            result.set_type(retyped(result.type, [shape[d] for d in order]))
        self._note_order(result, order, shape)

    def _in_order(self, value: ir.Value, order: Order, before: ir.Operation) -> ir.Value:
        """`value` with dimension i being dimension `order[i]`."""
        view = self.views.get(value) or View(value, Layout.row_major(tuple(value.type.shape)))
        stored = [view.layout.shape[d] for d in order]
        made = None
        if is_destination(value):
            made = self.tensors.destination(value, stored, before)
        return made or self.tensors.move(view.base, view.layout.gathered(order, stored), before)

    def _note_order(self, result: ir.Value, order: Order, shape: tuple[int, ...]) -> None:
        """`result`, once of `shape`, is stored with dimension i being dimension `order[i]`."""
        stored = Layout.row_major([shape[d] for d in order])
        layout = stored.gathered([order.index(d) for d in range(len(order))], shape)
        self._note(result, View(result, layout, intact=False))

    def _visit_other(self, op: ir.Operation) -> None:
        for position, value in enumerate(op.operands):
            if value in self.views:
                replacement = self._value(value, op)
                if replacement != value:
                    op.operands[position] = replacement

    def _value(self, value: ir.Value, before: ir.Operation) -> ir.Value:
        """`value` as a tensor in its own shape and order, for a reader at `before`."""
        view = self.views.get(value)
        if view is None or (view.intact and not (view.moves and view.layout.is_row_major)):
            return value
        return self.tensors.move(view.base, view.layout, before)

    def _visit_structured(self, op: ir.Operation) -> None:
        viewed = [i for i, value in enumerate(op.operands) if value in self.views]
        structured = Structured(op, self.interned)
        full = [m == identity(structured.loops) for m in structured.maps[: structured.inputs]]
        absorbed = [i for i in viewed if self._absorb(structured, i)]
        sinking = [i for i in absorbed if full[i]] if sum(full) == 1 else []
        order = self._order(structured, structured.maps[sinking[0]] if sinking else None)
        if order is not None:
            self._store(structured, order)
        structured.commit()
        if structured.is_generic:
            self._visit_body(structured.op, _innermost(structured))

    def _absorb(self, generic: Structured, position: int) -> bool:
        """Let an operand be read through its map; if that cannot be, from a copy."""
        value = generic.operands[position]
        view = self.views[value]
        read = None
        if position < generic.inputs and not view.layout.is_row_major:
            read = reading(view.layout, tuple(view.base.type.shape))
        if read is not None:
            items = generic.maps[position]
            map_ = tuple(None if i is None else items[i] for i in read.sources)
            base = self.tensors.reshape(view.base, read.shape, generic.op)
            if generic.set_operand(position, base, map_):
                return True
        generic.set_operand(position, self._value(value, generic.op), generic.maps[position])
        return False

    def _order(self, structured: Structured, read: Map | None) -> Order | None:
        """In which order of dimensions to store the result; None for the one that there is.

        `read` is the map of the only operand of the size of the result, if it is a view.
        """
        if structured.outputs != 1:
            return None
        result = structured.op.results[0]
        shape = self.interned.shape_of(result)
        if shape is None:
            return None
        if result in self.orders:
            return self.orders[result]
        if read is None or self.wants.of(result).order is not None or not structured.can_rename:
            return None
        loops = [item for item in read if isinstance(item, int)]
        missing = [loop for loop in range(structured.loops) if loop not in loops]
        if any(shape[loop] > 1 for loop in missing):
            return None
        return (*missing, *loops)

    def _store(self, structured: Structured, order: Order) -> None:
        """Let the result be stored with dimension i being dimension `order[i]`."""
        op = structured.op
        shape = tuple(op.results[0].type.shape)
        elementwise = structured.can_rename
        if not elementwise and structured.is_generic and not any(structured.reductions):
            return
        stored = [shape[d] for d in order]
        if structured.is_generic:
            destination = self.tensors.destination(structured.operands[-1], stored, op)
            if destination is None:
                return
            structured.operands[-1] = destination
        if elementwise:
            structured.rename([order.index(d) for d in range(len(order))])
        else:
            last = structured.maps[-1]
            structured.set_map(-1, tuple(last[d] for d in order))
        with op.location:
            structured.set_result(retyped(op.results[0].type, stored))
        self._note_order(op.results[0], order, shape)


def _innermost(structured: Structured) -> int | None:
    """The loop along which the result of a linalg.generic is contiguous."""
    shape = structured.op.results[0].type.shape
    items = zip(structured.maps[structured.inputs], shape, strict=True)
    moving = [item for item, size in items if size > 1]
    return moving[-1] if moving and isinstance(moving[-1], int) else None


def _is_captured(op: ir.Operation, block: ir.Block) -> bool:
    """Tell whether a region uses the result of `op` in another way than reading elements of it."""
    outside = (use for use in op.results[0].uses if use.owner.operation.block != block)
    return any(extract_of(use, block) is None for use in outside)
