# SPDX-License-Identifier: MIT OR Apache-2.0
"""Shared memory that a launch asks for, which may be more than what is declared in its code."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory

DYNAMIC_ALIGNMENT = 1 << 10
"""Bytes; what the tensor memory accelerator's widest pattern of 128 bytes repeats after."""
_SPACE = 3


def dynamic_memory(shared: SharedMemory) -> ir.Value:
    """Return, as an LLVM pointer, where the dynamic shared memory of the launch begins.

    How much there is says `LaunchShape.shared`. A launch may ask for it once.
    """
    symbol = f"{shared.name}_dynamic"
    kind = ir.Type.parse("!llvm.array<0 x i8>")
    number = ir.IntegerType.get_signless
    with ir.InsertionPoint.at_block_begin(shared.module.regions[0].blocks[0]):
        ir.Operation.create(
            "llvm.mlir.global",
            attributes={
                "sym_name": ir.StringAttr.get(symbol),
                "global_type": ir.TypeAttr.get(kind),
                "linkage": ir.Attribute.parse("#llvm.linkage<external>"),
                "addr_space": ir.IntegerAttr.get(number(32), _SPACE),
                "alignment": ir.IntegerAttr.get(number(64), DYNAMIC_ALIGNMENT),
            },
            regions=1,
        )
    name = ir.FlatSymbolRefAttr.get(symbol)
    pointer = ir.Type.parse(f"!llvm.ptr<{_SPACE}>")
    return ir.Operation.create(
        "llvm.mlir.addressof", results=[pointer], attributes={"global_name": name}
    ).result
