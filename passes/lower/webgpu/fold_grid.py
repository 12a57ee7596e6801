# SPDX-License-Identifier: MIT OR Apache-2.0
"""`fold-grid`: launches of more blocks than fit into one dimension take two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import (
    entry_block,
    function_name,
    operations_named,
    terminator,
)
from xyntra.passes.lower.gpu.launching.outline import GRID, LAUNCH
from xyntra.passes.lower.loops.loop_builder import index
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class FoldGrid:
    """Give launches of many blocks a second dimension; blocks that are too many do nothing."""

    name: ClassVar[str] = "fold-grid"
    limit: int = (1 << 16) - 1
    """Blocks of one dimension (WebGPU, "maxComputeWorkgroupsPerDimension")."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite the launches of `module`, and what they launch.

        Raises:
            CompileError: a launch has more blocks than fit into two dimensions.
        """
        functions = {function_name(op): op for op in operations_named(module, "gpu.func")}
        for launch in operations_named(module, LAUNCH):
            blocks = _number(launch.operands[GRID - 1])
            if blocks <= self.limit:
                continue
            rows = -(-blocks // self.limit)
            columns = -(-blocks // rows)
            if rows > self.limit:
                message = f"a kernel needs {blocks:,} blocks of threads"
                raise CompileError("kernel-grid", message, cause=f"at most {self.limit**2:,}")
            with launch.location, ir.InsertionPoint(launch):
                launch.operands[GRID - 1] = index(columns)
                launch.operands[GRID] = index(rows)
            name = str(ir.SymbolRefAttr(launch.attributes["kernel"]).value[-1])
            _number_blocks(functions[name], columns, blocks, is_exact=rows * columns == blocks)


def _number(value: ir.Value) -> int:
    return int(ir.IntegerAttr(value.owner.attributes["value"]).value)


def _number_blocks(function: ir.Operation, columns: int, blocks: int, *, is_exact: bool) -> None:
    """Count blocks along both dimensions."""
    found = operations_named(function, "gpu.block_id")
    body = entry_block(function)
    inner = [view.operation for view in body.operations][:-1]
    with function.location, ir.InsertionPoint.at_block_begin(body):
        own = arith.addi(_block("x"), arith.muli(_block("y"), index(columns)))
    for op in found:
        op.result.replace_all_uses_with(own)
    if is_exact:
        return
    with function.location, ir.InsertionPoint(terminator(body)):
        condition = arith.cmpi(arith.CmpIPredicate.ult, own, index(blocks))
        built = scf.IfOp(condition)
        with ir.InsertionPoint(built.then_block):
            last = scf.YieldOp([])
        for op in inner:
            if op.name != "memref.alloc":
                op.move_before(last.operation)


def _block(dimension: str) -> ir.Value:
    which = ir.Attribute.parse(f"#gpu<dim {dimension}>")
    return emit("gpu.block_id", [], ir.IndexType.get(), dimension=which)
