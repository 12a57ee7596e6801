# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recognises loops that compute values of rows, or add up parts of rows, of a contraction."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.sizes.size import of_several
from xyntra.passes.lower.gpu.contraction.group import ContractionGroup
from xyntra.passes.lower.gpu.contraction.product import Dimension, dimensions_of
from xyntra.passes.lower.gpu.contraction.row_partials import (
    PARTIAL_COLUMNS,
    Partial,
    RowPartials,
)
from xyntra.passes.lower.gpu.contraction.row_values import RowValueLoops
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.matmul.roles import size
from xyntra.passes.lower.kernels.fills import initial_of, is_fill
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, collapsed, linear_nest
from xyntra.passes.lower.loops.memrefs import root
from xyntra.passes.lower.loops.vector_body import is_vectorizable


def find_values(
    group: ContractionGroup, operations: Sequence[ir.Operation]
) -> RowValueLoops | None:
    """Return the values that `operations` give the epilogues of a contraction.

    None where they compute something else, or where the epilogues read it otherwise.
    """
    rows = size(group.nest, group.roles.rows)
    nests = [collapsed(linear_nest(op)) for op in operations]
    held: set[ir.Value] = set()
    for nest in nests:
        if not _is_of_rows(nest, rows, held):
            return None
        held |= {root(each.value) for each in nest.outputs}
    read: list[ir.Value] = []
    for access in _epilogue_inputs(group):
        memory = root(access.value)
        if memory not in held:
            continue
        if not _walks_along_rows(group, access, Dimension(rows, 1), Dimension(1, 0)):
            return None
        if memory not in read:
            read.append(memory)
    if not read:
        return None
    outputs = [each for nest in nests for each in nest.outputs]
    written = {root(each.value): each for each in outputs if _is_result(each)}
    if not written.keys() <= set(read):
        return None
    return RowValueLoops(tuple(nests), tuple(read), rows, tuple(map(written.get, read)))


def _is_result(access: BufferOperand) -> bool:
    return isinstance(root(access.value).owner, ir.Block)


def _is_of_rows(nest: LinearNest, rows: int, held: set[ir.Value]) -> bool:
    """Tell whether an iteration of the only parallel loop computes f32s of one row.

    Args:
        nest: any loops.
        rows: how many there are.
        held: memory in which such values are.
    """
    if nest.indices or not is_vectorizable(nest.body) or len(nest.reductions) > 1:
        return False
    parallel = [loop.extent for loop in nest.loops if not loop.is_reduction]
    if parallel != ([rows] if of_several(1, rows) else []):
        return False
    own = tuple(0 if loop.is_reduction else 1 for loop in nest.loops)
    outputs = [root(each.value) for each in nest.outputs]
    kinds = [str(each.element_type) for each in nest.outputs]
    if any(kind != "f32" for kind in kinds) or not all(_is_at(each, own) for each in nest.outputs):
        return False
    if nest.reads_outputs and not held.issuperset(outputs):
        return False
    memory = [each for each in nest.inputs if not each.is_scalar]
    if any(str(each.element_type) == "i1" for each in memory):
        return False
    return all(_is_at(each, own) for each in memory if root(each.value) in held)


def _is_at(access: BufferOperand, strides: Sequence[int]) -> bool:
    return access.strides == tuple(strides) and access.start == 0


def _epilogue_inputs(group: ContractionGroup) -> list[BufferOperand]:
    inputs = [each for epilogue in group.followers for each in epilogue.inputs]
    return [each for each in inputs if each is not None and not each.is_scalar]


def _walks_along_rows(
    group: ContractionGroup, access: BufferOperand, rows: Dimension, columns: Dimension
) -> bool:
    """Tell whether `access` starts its memory, and moves so with the rows and the columns."""
    found = dimensions_of(group.nest, access, group.roles.rows)
    across = dimensions_of(group.nest, access, group.roles.columns)
    moves_across = any(each.stride for each in across)
    if size(group.nest, group.roles.batch) != 1 or access.start != 0:
        return False
    if of_several(1, rows.extent) and found != [rows]:
        return False
    return across == [columns] if columns.stride else not moves_across


def find_partials(
    group: ContractionGroup, operations: Sequence[ir.Operation]
) -> RowPartials | None:
    """Return the sums over 32 columns of one result of a contraction that `operations` are.

    None where any of them is something else.
    """
    result = _read_result(group, operations)
    if result is None:
        return None
    initials: dict[ir.Value, ir.Value] = {}
    found: list[Partial] = []
    for op in operations:
        memory = root(op.operands[-1])
        if is_fill(op):
            initials[memory] = initial_of(op)
            continue
        known = initials.pop(memory, None)
        if known is None:
            return None
        partial = _partial(group, result, collapsed(linear_nest(op)), known, found)
        if partial is None:
            return None
        found.append(partial)
    return RowPartials(root(result.value), tuple(found)) if found and not initials else None


def _read_result(
    group: ContractionGroup, operations: Sequence[ir.Operation]
) -> BufferOperand | None:
    """Return the only result that `operations` read, where its rows are contiguous."""
    kept = group.epilogue
    results = list(group.nest.outputs[:1] if kept is None else kept.outputs)
    read = [
        root(value)
        for op in operations
        for value in list(op.operands)[:-1]
        if isinstance(value.type, ir.MemRefType)
    ]
    found = [each for each in results if root(each.value) in read]
    columns = size(group.nest, group.roles.columns)
    if len(found) != 1 or columns % PARTIAL_COLUMNS or str(found[0].element_type) == "i1":
        return None
    rows = Dimension(size(group.nest, group.roles.rows), columns)
    whole = _walks_along_rows(group, found[0], rows, Dimension(columns, 1))
    return found[0] if whole else None


def _partial(
    group: ContractionGroup,
    result: BufferOperand,
    nest: LinearNest,
    initial: ir.Value,
    earlier: Sequence[Partial],
) -> Partial | None:
    """Return what a reduction adds up; None where that is not 32 columns of `result`."""
    combiner = Combiner.of(nest)
    if combiner is None or str(combiner.type) != "f32" or not is_vectorizable(nest.body):
        return None
    read = [each for each in nest.inputs if not each.is_scalar]
    own = [each for each in read if root(each.value) == root(result.value)]
    if nest.indices or not own or len(nest.reductions) != 1:
        return None
    columns = size(group.nest, group.roles.columns)
    extents = {1: PARTIAL_COLUMNS, PARTIAL_COLUMNS: columns // PARTIAL_COLUMNS}
    extents |= {columns: size(group.nest, group.roles.rows)} if columns > PARTIAL_COLUMNS else {}
    if columns == PARTIAL_COLUMNS:
        extents[PARTIAL_COLUMNS] = size(group.nest, group.roles.rows)
    steps = own[0].strides
    loops = {step: loop.extent for step, loop in zip(steps, nest.loops, strict=True)}
    if len(loops) < len(nest.loops) or steps[nest.reductions[0]] != 1:
        return None
    if loops != {step: extent for step, extent in extents.items() if of_several(1, extent)}:
        return None
    if any(each.strides != steps or each.start != result.start for each in own):
        return None
    (output,) = nest.outputs
    others = [each for each in read if each not in own]
    known = [each.output for each in earlier]
    if any(not _is_same(each, output, known) for each in others):
        return None
    moved = dict(zip(steps, output.strides, strict=True))
    across = moved.get(PARTIAL_COLUMNS, 0) if columns > PARTIAL_COLUMNS else 0
    return Partial(nest, combiner, initial, output, moved.get(columns, 0), across)


def _is_same(access: BufferOperand, output: BufferOperand, known: Sequence[BufferOperand]) -> bool:
    """Tell whether `access` reads, where `output` is written, what an earlier partial wrote."""
    if access.strides != output.strides:
        return False
    return any(
        root(each.value) == root(access.value) and each.start == access.start for each in known
    )
