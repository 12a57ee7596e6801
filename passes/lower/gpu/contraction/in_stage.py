# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads what a stage computes around its contraction from the operations in it.

Before the contraction stand what pads one of its factors, which is then read around its padding,
and loops that give values of rows to what follows. Behind it stand what takes up its result, as a
whole or by slices of columns, and sums over parts of the rows of a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.lower.gpu.contraction.group import (
    ANCHOR,
    ContractionGroup,
    contraction_group,
)
from xyntra.passes.lower.gpu.contraction.implicit_padding import padding_of
from xyntra.passes.lower.gpu.contraction.row_shapes import find_partials, find_values
from xyntra.passes.lower.gpu.contraction.slices import pairing_of, slice_of
from xyntra.passes.lower.gpu.contraction.unpadded import reading
from xyntra.passes.lower.gpu.conv.pooling import pooling_of
from xyntra.passes.lower.gpu.conv.sliding import sliding_windows
from xyntra.passes.lower.kernels.fills import is_fill
from xyntra.passes.lower.loops.linear_nest import linear_nest
from xyntra.passes.lower.loops.memrefs import written_by


def contraction_in(operations: Sequence[ir.Operation]) -> ContractionGroup | None:
    """Return the contraction of a stage that holds `operations`; None where it has none.

    Raises:
        CompileError: one of them is nothing that a contraction takes along.
    """
    anchor = next((op for op in operations if ANCHOR in op.attributes), None)
    if anchor is None:
        return None
    position = list(operations).index(anchor)
    group = contraction_group(operations, position, operations)
    if group is None:
        raise _refused(anchor, "is no contraction that tiles can compute")
    before = [op for op in operations[:position] if op not in group.operations]
    after = [op for op in operations[position:] if op not in group.operations]
    group, before = _read_around_padding(group, operations, anchor, before)
    group, after = _sliced(group, after)
    if after:
        partials = find_partials(group, after)
        if partials is None:
            raise _refused(after[0], "is nothing that a contraction does to its rows")
        group = replace(group, partials=partials)
    if before:
        values = find_values(group, before)
        if values is None:
            raise _refused(before[0], "gives no values of rows to what follows a contraction")
        group = replace(group, values=values)
    return group


def _read_around_padding(
    group: ContractionGroup,
    operations: Sequence[ir.Operation],
    anchor: ir.Operation,
    before: Sequence[ir.Operation],
) -> tuple[ContractionGroup, list[ir.Operation]]:
    """Return `group` reading the image that `before` pads, and what else is in `before`."""
    if not before:
        return group, []
    factors = _factors(group)
    written = [value for op in operations[operations.index(anchor) :] for value in written_by(op)]
    for factor in factors:
        padding = padding_of(operations, anchor, factor, written)
        found = None if padding is None else reading(group, factor, padding)
        if padding is not None and found is not None:
            return found, [op for op in before if op not in padding.operations]
    return group, list(before)


def _factors(group: ContractionGroup) -> list[int]:
    """Return the numbers of the inputs that may be images, likely ones first."""
    pooling = pooling_of(group)
    if pooling is not None:
        return [pooling.image]
    windows = sliding_windows(group)
    likely = [] if windows is None else [windows.image]
    return list(dict.fromkeys([*likely, group.roles.left, group.roles.right]))


def _sliced(
    group: ContractionGroup, after: Sequence[ir.Operation]
) -> tuple[ContractionGroup, list[ir.Operation]]:
    """Return `group` with what takes slices or pairs of its columns, and what else is there."""
    simple = [op for op in after if not is_fill(op) and not _reduces(op)]
    rest = [op for op in after if op not in simple]
    pairing = pairing_of(group, linear_nest(simple[0])) if len(simple) == 1 else None
    if pairing is not None:
        return replace(group, epilogue=None, pairing=pairing), rest
    if group.epilogue is not None:
        return group, list(after)
    slices = [slice_of(group, linear_nest(op)) for op in simple]
    for op, found in zip(simple, slices, strict=True):
        if found is None:
            raise _refused(op, "takes no slice of a contraction's columns")
    known = tuple(each for each in slices if each is not None)
    return replace(group, slices=known), rest


def _reduces(op: ir.Operation) -> bool:
    return "reduction" in str(op.attributes["iterator_types"])


def _refused(op: ir.Operation, why: str) -> CompileError:
    message = f"'{op.name}' in the stage of a contraction {why}"
    return CompileError("stage-form", message)
