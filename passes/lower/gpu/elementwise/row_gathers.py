# SPDX-License-Identifier: MIT OR Apache-2.0
"""Bodies that load rows of other arrays, at places that are the same for a whole row.

An embedding is one: its index is computed once for a row, and the row that it names is loaded as
the row's own elements are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.loops.linear_nest import LinearNest
from xyntra.passes.lower.loops.memrefs import view_offset

_WIDEST = 16  # bytes of one load
_PURE = ("arith.", "math.")


@dataclass(frozen=True)
class RowGathers:
    """The part of a body that is computed once for a row, and its loads along the row.

    Attributes:
        arguments: numbers of the body's arguments that are the same for a whole row.
        once: operations on these, in order.
        loads: of vectors; all indices but the last are the same for a whole row.
        rows: the linalg.index that say which row it is.
    """

    arguments: tuple[int, ...]
    once: tuple[ir.Operation, ...]
    loads: tuple[ir.Operation, ...]
    rows: tuple[ir.Operation, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes that are loaded for an element."""
        return sum(_item(load) for load in self.loads)

    def fit(self, lanes: int) -> bool:
        """Tell whether all loads can have so many elements."""
        return all(_item(load) * lanes <= _WIDEST and _fits(load, lanes) for load in self.loads)


def row_gathers(nest: LinearNest, count: int, *, numbered: bool = False) -> RowGathers | None:
    """Return what `nest`, which has one loop behind `count` over rows, gathers.

    Args:
        nest: any.
        count: loops over rows.
        numbered: whether the body may ask which row it is.

    None where there are no such loads, or where the body does something else than arithmetic.
    """
    if not nest.indices or len(nest.loops) != count + 1:
        return None
    arguments = [
        number
        for number, access in enumerate(nest.inputs)
        if access.is_scalar or access.strides[count] == 0
    ]
    same = {nest.body.arguments[number] for number in arguments}
    once: list[ir.Operation] = []
    loads: list[ir.Operation] = []
    rows: list[ir.Operation] = []
    elements: set[ir.Value] = set()
    for view in list(nest.body.operations)[:-1]:
        op = view.operation
        if op.name == "linalg.index":
            steps = _strides(nest, op)
            if numbered and steps[count] == 0:
                rows.append(op)
                same.add(op.result)
            elif steps == (*[0] * count, 1):
                elements.add(op.result)
            else:
                return None
        elif op.name == "memref.load":
            if not _is_along(op, same, elements, nest.body):
                return None
            loads.append(op)
        elif not op.name.startswith(_PURE) or len(op.results) != 1:
            return None
        elif all(value in same or _is_outside(value, nest.body) for value in op.operands):
            once.append(op)
            same.add(op.result)
        elif any(str(value.type) == "index" for value in (*op.operands, op.result)):
            return None
    found = RowGathers(tuple(arguments), tuple(once), tuple(loads), tuple(rows))
    return found if loads else None


def gathered_vector(memory: ir.Value, place: Sequence[ir.Value], lanes: int) -> ir.Value:
    """Load contiguous elements from `place`, at a multiple of their size."""
    element = ir.MemRefType(memory.type).element_type
    i64 = ir.IntegerType.get_signless(64)
    alignment = ir.IntegerAttr.get(i64, lanes * ITEM_BYTES[str(element)])
    kind = ir.VectorType.get([lanes], element)
    return emit("vector.load", [memory, *place], kind, alignment=alignment)


def _strides(nest: LinearNest, op: ir.Operation) -> tuple[int, ...]:
    return tuple(nest.indices[ir.IntegerAttr(op.attributes["dim"]).value])


def _is_along(
    load: ir.Operation, same: set[ir.Value], elements: set[ir.Value], body: ir.Block
) -> bool:
    memory, *indices = load.operands
    kind = ir.MemRefType(memory.type)
    if not kind.has_static_shape or not _is_outside(memory, body) or not _item(load):
        return False
    steps, _ = kind.get_strides_and_offset()
    outer = all(value in same or _is_outside(value, body) for value in indices[:-1])
    return outer and indices[-1] in elements and steps[-1] == 1


def _is_outside(value: ir.Value, body: ir.Block) -> bool:
    if isinstance(value.owner, ir.Block):
        return bool(value.owner != body)
    return bool(value.owner.operation.block != body)


def _item(load: ir.Operation) -> int:
    kind = str(load.results[0].type)
    return 0 if kind == "i1" else ITEM_BYTES.get(kind, 0)


def _fits(load: ir.Operation, lanes: int) -> bool:
    steps, _ = ir.MemRefType(load.operands[0].type).get_strides_and_offset()
    places: Sequence[int] = [view_offset(load.operands[0]), *steps[:-1]]
    return all(place % lanes == 0 for place in places)
