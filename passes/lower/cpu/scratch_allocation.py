# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every allocation of a kernel becomes a slot of the scratch memory that the caller passes.

Allocations whose lifetimes do not overlap share a slot. A slot is a function argument of its own,
so that `noalias` holds between slots; two tenants of one slot use the same pointer, which LLVM
orders correctly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.lower.cpu.kernel_function import (
    entry_block,
    function_name,
    operations_named,
    set_signature,
)
from xyntra.passes.lower.cpu.memrefs import view_of_bytes

SLOT_ALIGNMENT = 64  # bytes: a cache line, and the widest vector register
_BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8}


@dataclass
class _Allocation:
    op: ir.Operation
    nbytes: int
    first: int
    last: int


@dataclass
class _Slot:
    nbytes: int = 0
    tenants: list[_Allocation] = field(default_factory=list)

    def is_free_for(self, new: _Allocation) -> bool:
        return all(new.first > old.last or new.last < old.first for old in self.tenants)


def allocate_scratch(function: ir.Operation) -> list[int]:
    """Replace the allocations of `function` by new byte arguments; return their sizes in order.

    Sizes are in bytes and multiples of 64. The arguments follow those that exist.

    Raises:
        CompileError: an allocation has a size that is known only at run time.
    """
    slots = _assign_slots(_find_allocations(function))
    body = entry_block(function)
    byte = ir.IntegerType.get_signless(8)
    for slot in slots:
        kind = ir.MemRefType.get([slot.nbytes], byte)
        argument = body.add_argument(kind, function.location)
        for tenant in slot.tenants:
            _replace_by_view(tenant.op, argument)
    set_signature(function, [])
    return [slot.nbytes for slot in slots]


def _find_allocations(function: ir.Operation) -> list[_Allocation]:
    found: list[_Allocation] = []
    positions = {op.operation: i for i, op in enumerate(entry_block(function).operations)}
    for op in operations_named(function, "memref.alloc"):
        kind = ir.MemRefType(op.result.type)
        if not kind.has_static_shape or len(op.operands):
            place = f"kernel '{function_name(function)}'"
            raise CompileError("kernel-dynamic-size", f"cannot allocate {kind}", place=place)
        nbytes = prod(kind.shape) * _BYTES.get(str(kind.element_type), 8)
        uses = _positions_of_uses(op, positions)
        found.append(_Allocation(op, _round_up(nbytes), min(uses), max(uses)))
    return found


def _positions_of_uses(op: ir.Operation, positions: dict[ir.Operation, int]) -> list[int]:
    """Return where, in the function's block, `op` or anything that may alias it is touched."""
    found = [_top_level_position(op, positions)]
    waiting: list[ir.Value] = [op.result]
    seen: list[ir.Value] = []
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.append(value)
        for use in value.uses:
            found.append(_top_level_position(use.owner, positions))
            waiting.extend(_possible_aliases(use.owner))
    return found


def _possible_aliases(user: ir.Operation) -> list[ir.Value]:
    """Return the memrefs that may stand for an operand of `user`: its results and region arguments,
    and those of the operation around a terminator."""
    user = user.operation
    aliases = list(user.results)
    for region in user.regions:
        for block in region.blocks:
            aliases.extend(block.arguments)
    if user.name in ("scf.yield", "scf.condition"):
        aliases.extend(_possible_aliases(user.parent))
    return [value for value in aliases if isinstance(value.type, ir.MemRefType)]


def _top_level_position(op: ir.Operation, positions: dict[ir.Operation, int]) -> int:
    current = op.operation
    while current not in positions:
        current = current.parent.operation
    return positions[current]


def _assign_slots(allocations: list[_Allocation]) -> list[_Slot]:
    slots: list[_Slot] = []
    for allocation in sorted(allocations, key=lambda item: -item.nbytes):
        slot = next((slot for slot in slots if slot.is_free_for(allocation)), None)
        if slot is None:
            slot = _Slot(allocation.nbytes)
            slots.append(slot)
        slot.tenants.append(allocation)
    return slots


def _replace_by_view(op: ir.Operation, argument: ir.Value) -> None:
    with ir.InsertionPoint(op), op.location:
        view = view_of_bytes(argument, ir.MemRefType(op.result.type))
    op.result.replace_all_uses_with(view)
    op.erase()


def _round_up(nbytes: int) -> int:
    return max(1, -(-nbytes // SLOT_ALIGNMENT)) * SLOT_ALIGNMENT
