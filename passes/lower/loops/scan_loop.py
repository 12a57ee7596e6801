# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loops that combine one element after the other and store what they have on the way.

An iteration takes what the one before has combined from a register, or from where it has been
stored.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named, terminator
from xyntra.passes.analysis.loop_bounds import constant_of, constant_trips, number_of
from xyntra.passes.analysis.neutral_element import neutral_element
from xyntra.passes.analysis.owners import owner_of
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.lower.loops.memrefs import root

_PURE = ("arith.", "math.")


@dataclass(frozen=True)
class Scan:
    """A loop that computes a prefix scan.

    Attributes:
        loop: the loop.
        length: its iterations.
        combine: the operation that combines.
        neutral: the attribute of the constant that changes nothing.
        start: what there is before the first element.
        element: what is combined, inside of the loop.
        store: of what there is before an element or behind it.
        is_inclusive: the latter.
        carried: the load of what the iteration before has stored, where no value is handed on.
    """

    loop: ir.Operation
    length: int
    combine: ir.Operation
    neutral: ir.Attribute
    start: ir.Value
    element: ir.Value
    store: ir.Operation
    is_inclusive: bool
    carried: ir.Operation | None = None


def scan_of(loop: ir.Operation, whole: ir.Operation, *, at_any_depth: bool = False) -> Scan | None:
    """Return what is known of `loop`; None where it is no scan.

    Args:
        loop: an scf.for on buffers.
        whole: the loop that it is in, or itself; nothing else in it may have effects.
        at_any_depth: whether it may store in a loop inside of it.
    """
    stores = operations_named(whole, "memref.store")
    if len(stores) != 1 or len(list(loop.results)) > 1:
        return None
    if stores[0].parent != loop and not (at_any_depth and stores[0] in nested_operations(loop)):
        return None
    found = _in_register(loop, stores[0]) or _in_memory(loop, stores[0])
    if found is None:
        return None
    written = root(stores[0].operands[1])
    left = [found.store, *([] if found.carried is None else [found.carried])]
    operations = list(nested_operations(whole))
    return found if all(op in left or _only_reads(op, written) for op in operations) else None


def _in_register(loop: ir.Operation, store: ir.Operation) -> Scan | None:
    """Return what is known of a loop that hands on what it has combined."""
    body = loop.regions[0].blocks[0]
    length, results = constant_trips(loop), list(loop.results)
    if length is None or len(results) != 1 or list(results[0].uses):
        return None
    carried, following = body.arguments[1], terminator(body).operands[0]
    combine = owner_of(following)
    neutral = None if combine is None else neutral_element(combine.name, carried.type)
    if combine is None or neutral is None or list(combine.operands).count(carried) != 1:
        return None
    stored = store.operands[0]
    readers = [use.owner.operation for value in (carried, following) for use in value.uses]
    if any(op not in (combine, store, terminator(body)) for op in readers):
        return None
    if stored not in (carried, following):
        return None
    element = next(value for value in combine.operands if value != carried)
    start, is_inclusive = loop.operands[3], stored == following
    return Scan(loop, length, combine, neutral, start, element, store, is_inclusive)


def _in_memory(loop: ir.Operation, store: ir.Operation) -> Scan | None:
    """Return what is known of a loop that reads what the iteration before has stored."""
    length, number = constant_trips(loop), number_of(loop)
    combine = owner_of(store.operands[0])
    neutral = None if combine is None else neutral_element(combine.name, store.operands[0].type)
    if length is None or list(loop.results) or combine is None or neutral is None:
        return None
    for carried, element in (list(combine.operands), list(combine.operands)[::-1]):
        choice = owner_of(carried)
        if choice is None or choice.name != "arith.select":
            continue
        load = owner_of(choice.operands[2])
        if load is None or not _is_first(choice.operands[0], number):
            continue
        values = [load.results[0], carried, store.operands[0]]
        is_only_read = all(len(list(value.uses)) == 1 for value in values)
        start = choice.operands[1]
        if is_only_read and _is_constant(start) and _is_behind(store, load, number):
            return Scan(loop, length, combine, neutral, start, element, store, True, load)
    return None


def _is_first(condition: ir.Value, number: ir.Value) -> bool:
    """Tell whether a condition holds in the first iteration alone."""
    op = owner_of(condition)
    if op is None or op.name != "arith.cmpi" or op.operands[0] != number:
        return False
    is_equal = ir.IntegerAttr(op.attributes["predicate"]).value == int(arith.CmpIPredicate.eq)
    return is_equal and constant_of(op.operands[1]) == 0


def _is_constant(value: ir.Value) -> bool:
    op = owner_of(value)
    return op is not None and op.name == "arith.constant"


def _is_behind(store: ir.Operation, load: ir.Operation, number: ir.Value) -> bool:
    """Tell whether each iteration but the first loads what the one before has stored."""
    if load.name != "memref.load" or load.operands[0] != store.operands[1]:
        return False
    for before, here in zip(list(load.operands)[1:], list(store.operands)[2:], strict=True):
        if before == here and linear_in(here, number) in (None, (0, constant_of(here))):
            continue
        choice, place = owner_of(before), linear_in(here, number)
        if choice is None or choice.name != "arith.select" or place is None:
            return False
        step, first = place
        moved = linear_in(choice.operands[2], number)
        if not _is_first(choice.operands[0], number) or moved != (step, first - step) or not step:
            return False
    return True


def linear_in(value: ir.Value, number: ir.Value) -> tuple[int, int] | None:
    """Return a and b where `value` is a `number` + b for constants; None for others."""
    if value == number:
        return 1, 0
    known = constant_of(value)
    if known is not None:
        return 0, known
    op = owner_of(value)
    if op is None or op.name not in ("arith.addi", "arith.subi"):
        return None
    parts = [linear_in(each, number) for each in op.operands]
    if parts[0] is None or parts[1] is None:
        return None
    sign = 1 if op.name == "arith.addi" else -1
    return parts[0][0] + sign * parts[1][0], parts[0][1] + sign * parts[1][1]


def _only_reads(op: ir.Operation, written: ir.Value) -> bool:
    """Tell whether `op` is a loop, arithmetic, or loads from other memory than what is written."""
    if op.name in ("scf.for", "scf.yield"):
        return True
    if op.name == "memref.load":
        return bool(root(op.operands[0]) != written)
    return bool(op.name.startswith(_PURE)) and not len(op.regions)
