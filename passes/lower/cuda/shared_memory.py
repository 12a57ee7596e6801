# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory that the threads of a block share."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir

STATIC_BYTES = 48 << 10
"""What every device gives a block without asking for more."""
ALIGNMENT = 16
"""Bytes of what `SharedMemory.allocate` returns: of the widest access."""
DYNAMIC_ALIGNMENT = 1 << 10
"""Bytes; what the tensor memory accelerator's widest pattern of 128 bytes repeats after."""
_SPACE = 3
_RESERVED = 2 << 10  # for the words of reductions


@dataclass
class SharedMemory:
    """Hands out shared memory to one launch.

    Attributes:
        module: where the memory is declared.
        name: prefix of its symbols, unique in the module.
    """

    module: ir.Operation
    name: str
    used: int = 0

    def allocate(self, size: int, element: ir.Type) -> ir.Value:
        """Return memory for `size` elements at the insertion point."""
        self.used += size * ITEM_BYTES[str(element)]
        alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), ALIGNMENT)
        return ir.Operation.create(
            "memref.alloc",
            results=[ir.MemRefType.get([size], element, memory_space=workgroup_space())],
            attributes={
                "alignment": alignment,
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0]),
            },
        ).result

    def dynamic(self) -> ir.Value:
        """Return, as an LLVM pointer, where the dynamic shared memory of the launch begins.

        How much there is says `LaunchShape.shared`. It may be asked for once.
        """
        symbol = f"{self.name}_dynamic"
        kind = ir.Type.parse("!llvm.array<0 x i8>")
        number = ir.IntegerType.get_signless
        with ir.InsertionPoint.at_block_begin(self.module.regions[0].blocks[0]):
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

    def row(self, size: int, element: ir.Type) -> ir.Value | None:
        """Return memory for a row of `size` elements, None where too little is left."""
        nbytes = size * ITEM_BYTES.get(str(element), 8)
        if str(element) not in ITEM_BYTES or self.used + nbytes > STATIC_BYTES - _RESERVED:
            return None
        return self.allocate(size, element)


def workgroup_space() -> ir.Attribute:
    """Return the memory space of what the threads of a block share."""
    return ir.Attribute.parse("#gpu.address_space<workgroup>")
