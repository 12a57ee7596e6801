# SPDX-License-Identifier: MIT OR Apache-2.0
"""`vector-memory`: buffers that are accessed four words at a time are arrays of vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import entry_block, operations_named
from xyntra.passes.lower.gpu.spirv.flat_signature import FUNCTION, pass_arguments, set_inputs
from xyntra.passes.registry import register_pass

_LANES, _BYTES = 4, 16
_ACCESSES = {"vector.load": 0, "vector.store": 1}
"""By operation: the number of the operand that is the memory; the place is behind it."""
_SUMS = ("arith.addi", "arith.muli")
_CASTS = ("arith.index_cast", "arith.index_castui")


@register_pass
@dataclass(frozen=True)
class VectorMemory:
    """Declare memory as vectors of four where every access is one of four aligned words.

    A thread then loads and stores 128 bits at once: SPIR-V has no access to contiguous elements
    of an array as one vector. Memory that is also accessed word by word stays as it is, since a
    store to one element of a vector may write all of them. Memory is flat by then.
    """

    name: ClassVar[str] = "vector-memory"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the functions and launches of `module`."""
        with module.context, module.location:
            for function in operations_named(module, FUNCTION):
                for memory in _memories(function):
                    if _is_in_vectors(memory):
                        _declare(memory)
                set_inputs(function)
            pass_arguments(module)


def _memories(function: ir.Operation) -> Iterator[ir.Value]:
    yield from entry_block(function).arguments
    for op in operations_named(function, "memref.alloc"):
        yield op.result


def _is_in_vectors(memory: ir.Value) -> bool:
    if not isinstance(memory.type, ir.MemRefType):
        return False
    kind = ir.MemRefType(memory.type)
    if str(kind.element_type) not in ("f32", "i32") or kind.rank != 1 or kind.shape[0] % _LANES:
        return False
    users = [use.owner.operation for use in memory.uses]
    return bool(users) and all(_is_vector_access(op, kind.element_type) for op in users)


def _is_vector_access(op: ir.Operation, element: ir.Type) -> bool:
    if op.name not in _ACCESSES or "alignment" not in op.attributes:
        return False
    value = op.operands[0] if op.name == "vector.store" else op.result
    is_whole = value.type == ir.VectorType.get([_LANES], element)
    return bool(is_whole and ir.IntegerAttr(op.attributes["alignment"]).value % _BYTES == 0)


def _declare(memory: ir.Value) -> None:
    kind = ir.MemRefType(memory.type)
    vector = ir.VectorType.get([_LANES], kind.element_type)
    shape = [kind.shape[0] // _LANES]
    with memory.context:
        memory.set_type(ir.MemRefType.get(shape, vector, memory_space=kind.memory_space))
    for op in [use.owner.operation for use in memory.uses]:
        place = _ACCESSES[op.name] + 1
        with op.location, ir.InsertionPoint(op):
            op.operands[place] = _quotient(op.operands[place])


def _quotient(place: ir.Value) -> ir.Value:
    """Return the number of the vector that starts at a place, which is a multiple of four."""
    found = _exact_quotient(place)
    return arith.divui(place, _constant(_LANES, place.type)) if found is None else found


def _exact_quotient(value: ir.Value) -> ir.Value | None:
    """Return a fourth of a sum of multiples of four; None where it is not known to be one."""
    if isinstance(value.owner, ir.Block):
        return arith.divui(value, _constant(_LANES, value.type)) if _steps_by(value) else None
    op, name = value.owner, value.owner.name
    if name == "arith.constant":
        number = _number(value)
        return None if number % _LANES else _constant(number // _LANES, value.type)
    if name in _CASTS:
        inner = _exact_quotient(op.operands[0])
        return None if inner is None else emit(name, [inner], value.type)
    if name == "arith.select":
        first, second = (_exact_quotient(each) for each in op.operands[1:])
        return first and second and emit(name, [op.operands[0], first, second], value.type)
    parts = [_exact_quotient(each) for each in op.operands] if name in _SUMS else []
    left, right = parts or (None, None)
    if name == "arith.addi" and left is not None and right is not None:
        return arith.addi(left, right)
    if name == "arith.muli" and left is not None:
        return arith.muli(left, op.operands[1])
    if name == "arith.muli" and right is not None:
        return arith.muli(op.operands[0], right)
    return None


def _steps_by(value: ir.Value) -> bool:
    """Tell whether a loop takes a value from one multiple of four to the next."""
    loop = value.owner.owner
    if loop.name != "scf.for" or ir.BlockArgument(value).arg_number:
        return False
    first, _, step = list(loop.operands)[:3]
    return _is_multiple(first) and _is_multiple(step)


def _is_multiple(value: ir.Value) -> bool:
    is_constant = not isinstance(value.owner, ir.Block) and value.owner.name == "arith.constant"
    return bool(is_constant and _number(value) % _LANES == 0)


def _number(constant: ir.Value) -> int:
    return int(ir.IntegerAttr(constant.owner.attributes["value"]).value)


def _constant(number: int, kind: ir.Type) -> ir.Value:
    return emit("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, number))
