# SPDX-License-Identifier: MIT OR Apache-2.0
"""`scratch-allocation`: every allocation becomes a slot of memory that the caller passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import prod
from typing import ClassVar

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import (
    check_buffers,
    entry_block,
    function_name,
    kernel_function,
    operations_named,
    set_signature,
    task_functions,
)
from xyntra.passes.lower.loops.memrefs import view_of_bytes, view_of_elements
from xyntra.passes.registry import register_pass

MOST_ELEMENTS = "xyntra.most_elements"
"""Integer attribute of an allocation of sizes that are told: its most elements."""
SLOT_ALIGNMENT = 64  # bytes: a cache line, and the widest vector register
_WIDEST_ELEMENT = 8  # bytes


@dataclass
class _Allocation:
    op: ir.Operation
    nbytes: int
    first: int
    last: int


@dataclass
class _Slot:
    nbytes: int = 0
    element: ir.Type | None = None
    tenants: list[_Allocation] = field(default_factory=list)

    def is_free_for(self, new: _Allocation) -> bool:
        if (
            self.element is not None
            and self.element != ir.MemRefType(new.op.result.type).element_type
        ):
            return False
        return all(new.first > old.last or new.last < old.first for old in self.tenants)


@register_pass
@dataclass(frozen=True)
class ScratchAllocation:
    """Replace the allocations of a kernel by new byte arguments, behind those that exist.

    Allocations whose lifetimes do not overlap share a slot. A slot is an argument of its own, so
    that `noalias` holds between slots; two tenants of one slot use the same pointer, which LLVM
    orders correctly. The sizes, in bytes and multiples of 64, are kept as `xyntra.scratch`.

    So are those of every task, which lie one after the other in the memory of one thread; the
    kernel gets as much of it as the largest task takes, `xyntra.private`, as its last argument.
    """

    name: ClassVar[str] = "scratch-allocation"
    typed: bool = False
    """Whether a slot has elements of one type, for targets whose memory is not made of bytes."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel function of `module`.

        Raises:
            CompileError: the function is not a kernel on buffers, frees memory, or allocates some
                whose size is known only at run time.
        """
        function = kernel_function(module)
        check_buffers(function)
        _allocate(function, typed=self.typed)
        tasks = {function_name(task): _allocate(task) for task in task_functions(module)}
        private = max([sum(sizes) for sizes in tasks.values()], default=0)
        if private:
            _pass_private_memory(function, private, tasks)


def _allocate(function: ir.Operation, *, typed: bool = False) -> list[int]:
    """Give `function` an argument for every slot, and return their sizes."""
    body = entry_block(function)
    slots = _assign_slots(_find_allocations(function), typed=typed)
    with function.location:
        for slot in slots:
            argument = body.add_argument(_memory_of(slot), function.location)
            for tenant in slot.tenants:
                _replace_by_view(tenant.op, argument, typed=typed)
        sizes = [slot.nbytes for slot in slots]
        function.attributes["xyntra.scratch"] = ir.DenseI64ArrayAttr.get(sizes)
        set_signature(function, [])
    return sizes


def _pass_private_memory(
    kernel: ir.Operation, nbytes: int, tasks: Mapping[str, Sequence[int]]
) -> None:
    """Give `kernel` memory for one thread, and its tasks their slots of it."""
    with kernel.location:
        memory = entry_block(kernel).add_argument(_bytes(nbytes), kernel.location)
        number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), nbytes)
        kernel.attributes["xyntra.private"] = number
        set_signature(kernel, [])
    calls = operations_named(kernel, "func.call")
    for call in calls:
        sizes = tasks.get(ir.FlatSymbolRefAttr(call.attributes["callee"]).value, ())
        with call.location, ir.InsertionPoint(call):
            starts = accumulate(sizes[:-1], initial=0) if sizes else ()
            kinds = [_bytes(size) for size in sizes]
            slots = [view_of_bytes(memory, *each) for each in zip(kinds, starts, strict=True)]
            operands = [*call.operands, *slots]
            attributes = {"callee": call.attributes["callee"]}
            ir.Operation.create("func.call", operands=operands, attributes=attributes)
    for call in calls:
        call.erase()


def _bytes(nbytes: int) -> ir.MemRefType:
    return ir.MemRefType.get([nbytes], ir.IntegerType.get_signless(8))


def _memory_of(slot: _Slot) -> ir.MemRefType:
    """Return the type of the argument that is a slot."""
    if slot.element is None:
        return _bytes(slot.nbytes)
    item = ITEM_BYTES.get(str(slot.element), _WIDEST_ELEMENT)
    return ir.MemRefType.get([slot.nbytes // item], slot.element)


def _find_allocations(function: ir.Operation) -> list[_Allocation]:
    found: list[_Allocation] = []
    positions = {op.operation: i for i, op in enumerate(entry_block(function).operations)}
    for op in _allocations(function):
        kind = ir.MemRefType(op.result.type)
        if not kind.has_static_shape or len(op.operands):
            place = f"kernel '{function_name(function)}'"
            raise CompileError("kernel-dynamic-size", f"cannot allocate {kind}", place=place)
        elements = prod(kind.shape)
        if MOST_ELEMENTS in op.attributes:
            elements = ir.IntegerAttr(op.attributes[MOST_ELEMENTS]).value
        nbytes = elements * ITEM_BYTES.get(str(kind.element_type), _WIDEST_ELEMENT)
        uses = _positions_of_uses(op, positions)
        found.append(_Allocation(op, _round_up(nbytes), min(uses), max(uses)))
    return found


def _allocations(function: ir.Operation) -> list[ir.Operation]:
    """Return what allocates memory, which nothing may free."""
    found = operations_named(function, "memref.alloc", "memref.dealloc", "memref.realloc")
    if any(op.name != "memref.alloc" for op in found):
        place = f"kernel '{function_name(function)}'"
        message = "a kernel does not free memory, which belongs to the caller"
        raise CompileError("kernel-free", message, place=place)
    # What lies in another memory space is not the caller's: a block of a GPU has it by itself.
    return [op for op in found if ir.MemRefType(op.result.type).memory_space is None]


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
    """Return the memrefs that may stand for an operand of `user`.

    These are its results, the arguments of its regions, and, where it ends a region, the same of
    the operation around.
    """
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


def _assign_slots(allocations: list[_Allocation], *, typed: bool) -> list[_Slot]:
    slots: list[_Slot] = []
    for allocation in sorted(allocations, key=lambda item: -item.nbytes):
        slot = next((slot for slot in slots if slot.is_free_for(allocation)), None)
        if slot is None:
            element = ir.MemRefType(allocation.op.result.type).element_type if typed else None
            slot = _Slot(allocation.nbytes, element)
            slots.append(slot)
        slot.tenants.append(allocation)
    return slots


def _replace_by_view(op: ir.Operation, argument: ir.Value, *, typed: bool) -> None:
    kind = ir.MemRefType(op.result.type)
    with ir.InsertionPoint(op), op.location:
        view = view_of_elements(argument, kind) if typed else view_of_bytes(argument, kind)
    op.result.replace_all_uses_with(view)
    op.erase()


def _round_up(nbytes: int) -> int:
    return max(1, -(-nbytes // SLOT_ALIGNMENT)) * SLOT_ALIGNMENT
