# SPDX-License-Identifier: MIT OR Apache-2.0
"""Splits the work of a kernel on buffers into stages, each of which one launch computes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.lower.cuda.attention.group import AttentionGroup, attention_group
from xyntra.passes.lower.cuda.contraction.group import ContractionGroup, contraction_group
from xyntra.passes.lower.cuda.contraction.long_products import cut_of
from xyntra.passes.lower.cuda.launch_groups import launch_groups
from xyntra.passes.lower.cuda.long_reductions import reduces, split, split_long_reductions
from xyntra.passes.lower.gpu.device import Device
from xyntra.passes.lower.nests.kernel_function import (
    direct_operations_named,
    entry_block,
    function_name,
    operations_named,
)
from xyntra.passes.lower.nests.memrefs import VIEWS, identity_map, root, written_by

_PASSIVE = VIEWS | {"memref.alloc", "memref.load", "memref.get_global", "func.return"}


@dataclass(frozen=True)
class Stage:
    """Operations of a kernel that one launch computes.

    Attributes:
        region: the `scf.execute_region` around them.
        operations: the operations.
        contraction: what is known of them where they are a contraction for tiles.
        attention: likewise where they are attention.
        is_needless: nothing reads what they compute.
    """

    region: ir.Operation
    operations: tuple[ir.Operation, ...]
    contraction: ContractionGroup | None = None
    attention: AttentionGroup | None = None
    is_needless: bool = False


def form_stages(function: ir.Operation, device: Device) -> list[Stage]:
    """Wrap everything in `function` that computes into regions, one a stage, in order.

    A contraction takes the fill before it and the arithmetic behind it along, neighbours that
    exchange rows become one stage, everything else a stage by itself. Views, allocations and
    scalars stay where they are.

    Args:
        function: the kernel.
        device: that the code is for.

    Raises:
        CompileError: the function reads, between two stages, an element that a stage writes.
    """
    work = _ordered_work(function)
    attentions = _attentions(work)
    groups = _contractions([op for op in work if not _is_of(op, attentions)])
    cuts = [cut for cut in (cut_of(group, device) for group in groups) if cut is not None]
    for generic, cut in cuts:
        split(generic, cut)
    if cuts:
        work = _work(function)
        groups = _contractions([op for op in work if not _is_of(op, attentions)])
    taken = [op for each in attentions for op in each.operations]
    taken += [op for group in groups for op in group.operations]
    split_long_reductions(function, [op for op in work if op not in taken], device)
    starts = [op for group in groups for op in _side_by_side(group, work)]
    runs = list(_runs(_work(function), taken, starts))
    stages = [_wrap(each.operations, attention=each) for each in attentions]
    stages += [_wrap(group.operations, group) for group in groups]
    for run in runs:
        stages += [_wrap(group) for group in list(launch_groups(run, device))]
    positions = {view.operation: i for i, view in enumerate(entry_block(function).operations)}
    return sorted(stages, key=lambda stage: positions[stage.region])


def form_single_stages(function: ir.Operation) -> list[Stage]:
    """Wrap each operation in `function` that computes into a region of its own, in order.

    Raises:
        CompileError: the function reads, between two stages, an element that a stage writes.
    """
    work = _ordered_work(function)
    return [_wrap([op]) for op in work]


def erase_unused_memory(function: ir.Operation) -> None:
    """Erase allocations that nothing uses any more, but for views that nothing uses."""
    for op in reversed(direct_operations_named(function, "memref.alloc", *VIEWS)):
        _erase_unused(op)


def _erase_unused(op: ir.Operation) -> None:
    """Erase an allocation or view if nothing but such views uses it, and these."""
    users = {use.owner.operation for use in op.results[0].uses}
    for user in users:
        if user.name in VIEWS:
            _erase_unused(user)
    if not list(op.results[0].uses):
        op.erase()


def _ordered_work(function: ir.Operation) -> list[ir.Operation]:
    """Return what computes, with copies as loops; refuse reads between what writes."""
    for copy in operations_named(function, "memref.copy"):
        _as_generic(copy)
    work = _work(function)
    _check_loads(function, work)
    return work


def _work(function: ir.Operation) -> list[ir.Operation]:
    """Return what computes, in order."""
    operations = [view.operation for view in entry_block(function).operations]
    return [op for op in operations if not _is_passive(op)]


def _is_passive(op: ir.Operation) -> bool:
    return op.name in _PASSIVE or op.name.startswith("arith.")


def _attentions(work: Sequence[ir.Operation]) -> list[AttentionGroup]:
    found = [attention_group(work, position) for position in range(len(work))]
    return [group for group in found if group is not None]


def _is_of(op: ir.Operation, groups: Sequence[AttentionGroup]) -> bool:
    return any(op in group.operations for group in groups)


def _contractions(work: Sequence[ir.Operation]) -> list[ContractionGroup]:
    groups: list[ContractionGroup] = []
    free = list(work)
    for position in range(len(work)):
        found = contraction_group(work, position, free)
        if found is not None:
            groups.append(found)
            free = [op for op in free if op not in found.operations]
    return groups


def _side_by_side(group: ContractionGroup, work: Sequence[ir.Operation]) -> list[ir.Operation]:
    """Return the first of several operations that take up a contraction's result one by one.

    They may become part of its launch, unless they share one with what comes before them.
    """
    memory = root(group.operations[-1].operands[-1])
    readers = [op for op in work if op not in group.operations and memory in map(root, _all(op))]
    simple = all(op.name == "linalg.generic" and not reduces(op) for op in readers)
    return readers[:1] if simple and group.epilogue is None and len(readers) > 1 else []


def _all(op: ir.Operation) -> list[ir.Value]:
    return [value for value in op.operands if isinstance(value.type, ir.MemRefType)]


def _runs(
    work: Sequence[ir.Operation],
    taken: Sequence[ir.Operation],
    starts: Sequence[ir.Operation],
) -> Iterator[list[ir.Operation]]:
    """Yield what lies between the operations of `taken`; runs begin with those of `starts`."""
    run: list[ir.Operation] = []
    for op in work:
        if op in taken:
            yield run
            run = []
            continue
        if op in starts:
            yield run
            run = []
        run.append(op)
    yield run


def _wrap(
    group: Sequence[ir.Operation],
    contraction: ContractionGroup | None = None,
    attention: AttentionGroup | None = None,
) -> Stage:
    last = group[-1]
    with last.location, ir.InsertionPoint(last):
        region = ir.Operation.create("scf.execute_region", regions=1)
    with last.location:
        block = region.regions[0].blocks.append()
        with ir.InsertionPoint(block):
            ending = scf.YieldOp([]).operation
    for op in group:
        op.move_before(ending)
    return Stage(region, tuple(group), contraction, attention=attention)


def copying_stage(source: ir.Value, target: ir.Value, before: ir.Operation) -> Stage:
    """Return a new stage before the operation `before` that copies one memref to another."""
    with before.location, ir.InsertionPoint(before):
        copy = _copying(source, target)
    return _wrap([copy])


def _as_generic(copy: ir.Operation) -> None:
    """Replace a copy by a linalg.generic that yields what it reads."""
    with copy.location, ir.InsertionPoint(copy):
        _copying(*copy.operands)
    copy.erase()


def _copying(source: ir.Value, target: ir.Value) -> ir.Operation:
    kind = ir.MemRefType(target.type)
    maps = [identity_map(kind.rank)] * 2
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    generic = ir.Operation.create(
        "linalg.generic",
        operands=[source, target],
        attributes={
            "indexing_maps": ir.ArrayAttr.get(maps),
            "iterator_types": ir.ArrayAttr.get([parallel] * kind.rank),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1]),
        },
        regions=1,
    )
    elements = [kind.element_type] * 2
    block = generic.regions[0].blocks.append(*elements)
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", operands=[block.arguments[0]])
    return generic


def _check_loads(function: ir.Operation, work: Sequence[ir.Operation]) -> None:
    loads = [op.operation for op in entry_block(function).operations]
    loads = [op for op in loads if op.name == "memref.load"]
    if not loads:
        return
    written = {root(value) for op in work for value in written_by(op)}
    if any(root(op.operands[0]) in written for op in loads):
        message = "a kernel reads one element between two of its loops, which a GPU cannot"
        raise CompileError("kernel-order", message, place=f"kernel '{function_name(function)}'")
