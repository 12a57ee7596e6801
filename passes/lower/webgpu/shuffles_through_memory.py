# SPDX-License-Identifier: MIT OR Apache-2.0
"""`shuffles-through-memory`: threads exchange values in workgroup memory, without subgroups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import entry_block, function_name, operations_named
from xyntra.passes.lower.gpu.emit.thread_grid import as_i32, as_index, barrier
from xyntra.passes.lower.webgpu.uniformity import Uniformity
from xyntra.passes.registry import register_pass

_SHUFFLE = "gpu.shuffle"
_WORKGROUP = "#spirv.storage_class<Workgroup>"


@register_pass
@dataclass(frozen=True)
class ShufflesThroughMemory:
    """Replace butterflies by a store, a barrier and a load of workgroup memory.

    WebGPU promises no subgroups, and where there are some, not how many threads they have. Here a
    warp is as many neighbours as a shuffle says. `allocate-workgroup-memory` goes before.
    """

    name: ClassVar[str] = "shuffles-through-memory"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the functions of `module`.

        Raises:
            CompileError: it is not known that all threads of a block reach a shuffle, one is no
                butterfly, or moves what is no word.
        """
        with module.context:
            for function in operations_named(module, "gpu.func"):
                _check(function)
                _rewrite(function)


def _check(function: ir.Operation) -> None:
    """Refuse what would leave threads waiting for others."""
    known = Uniformity()
    for op in operations_named(function, _SHUFFLE):
        if not known.is_reached_by_all(op):
            raise _refusal(function, "only some threads of a block may reach a shuffle")
        if "xor" not in str(op.attributes["mode"]) or str(op.results[0].type) != "i32":
            raise _refusal(function, "a shuffle is no exchange of words between pairs of threads")


def _refusal(function: ir.Operation, message: str) -> CompileError:
    return CompileError("gpu-shuffle", message, place=f"function '{function_name(function)}'")


def _rewrite(function: ir.Operation) -> None:
    found = operations_named(function, _SHUFFLE)
    if not found:
        return
    threads = next(iter(ir.DenseI32ArrayAttr(function.attributes["known_block_size"])))
    with function.location, ir.InsertionPoint.at_block_begin(entry_block(function)):
        words = [_words(threads) for _ in range(2)]
        dimension = ir.Attribute.parse("#gpu<dim x>")
        number = emit("gpu.thread_id", [], ir.IndexType.get(), dimension=dimension)
        own = as_i32(number)
        yes = arith.constant(ir.IntegerType.get_signless(1), 1)
    turns = _turns(function)
    for op in found:
        value, distance, _ = op.operands
        turn = turns[op]
        memory = words[turn % len(words)]
        with op.location, ir.InsertionPoint(op):
            if not turn:
                barrier()  # until all have loaded what was there
            ir.Operation.create("memref.store", operands=[value, memory, number])
            barrier()
            other = as_index(arith.xori(own, distance))
            moved = emit("memref.load", [memory, other], value.type)
        op.results[0].replace_all_uses_with(moved)
        op.results[1].replace_all_uses_with(yes)
    for op in found:
        op.erase()


def _turns(function: ir.Operation) -> dict[ir.Operation, int]:
    """Return the number of each shuffle in a row of them that nothing else comes between.

    They take turns with two pieces of memory: at the barrier of the next one, all threads have
    loaded what the one before had stored.
    """
    turns: dict[ir.Operation, int] = {}

    def visit(block: ir.Block) -> bool:
        turn = 0
        for view in block.operations:
            op = view.operation
            if op.name == _SHUFFLE:
                turns[op] = turn
                turn += 1
            inside = [visit(each) for region in op.regions for each in region.blocks]
            turn = 0 if any(inside) else turn
        return any(view.operation in turns for view in block.operations)

    for block in function.regions[0].blocks:
        visit(block)
    return turns


def _words(threads: int) -> ir.Value:
    space = ir.Attribute.parse(_WORKGROUP)
    kind = ir.MemRefType.get([threads], ir.IntegerType.get_signless(32), memory_space=space)
    none = ir.DenseI32ArrayAttr.get([0, 0])
    return emit("memref.alloc", [], kind, operandSegmentSizes=none)
