# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory that the threads of a block share."""

from __future__ import annotations

from dataclasses import dataclass, field

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.analysis.sizes.size import most_of
from xyntra.passes.lower.gpu.device import GpuDevice

ALIGNMENT = 16
"""Bytes of what `SharedMemory.allocate` returns: of the widest access."""
_RESERVED = 2 << 10  # for the words of reductions


@dataclass
class SharedMemory:
    """Hands out shared memory to one launch.

    Attributes:
        module: of the kernel.
        name: prefix of symbols that the launch declares there, unique in the module.
        device: that the code is for.
    """

    module: ir.Operation
    name: str
    device: GpuDevice
    used: int = 0
    _kept: dict[tuple[int, str], ir.Value] = field(default_factory=dict)

    def allocate(self, size: int, element: ir.Type) -> ir.Value:
        """Return memory for `size` elements at the insertion point.

        Raises:
            CompileError: `shared-memory`, the device does not have as much.
        """
        self.used += size * ITEM_BYTES[str(element)]
        if self.used > self.device.static_bytes:
            message = f"a kernel needs {self.used:,} bytes of shared memory"
            cause = f"{self.device.name} has {self.device.static_bytes:,}"
            raise CompileError("shared-memory", message, cause=cause)
        alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), ALIGNMENT)
        return ir.Operation.create(
            "memref.alloc",
            results=[ir.MemRefType.get([size], element, memory_space=workgroup_space())],
            attributes={
                "alignment": alignment,
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0]),
            },
        ).result

    def kept(self, size: int, element: ir.Type) -> ir.Value:
        """Return memory for `size` elements that whoever asks for as many gets, one by one.

        Raises:
            CompileError: `shared-memory`, the device does not have as much.
        """
        key = size, str(element)
        if key not in self._kept:
            block = ir.InsertionPoint.current.block
            while block.owner.name.startswith("scf."):
                block = block.owner.operation.block
            with ir.InsertionPoint.at_block_begin(block):
                self._kept[key] = self.allocate(size, element)
        return self._kept[key]

    def row(self, size: int, element: ir.Type) -> ir.Value | None:
        """Return memory for a row of at most `size` elements, None where too little is left."""
        size = most_of(size)
        nbytes = size * ITEM_BYTES.get(str(element), 8)
        room = self.device.static_bytes - _RESERVED
        if str(element) not in ITEM_BYTES or self.used + nbytes > room:
            return None
        return self.allocate(size, element)


def workgroup_space() -> ir.Attribute:
    """Return the memory space of what the threads of a block share."""
    return ir.Attribute.parse("#gpu.address_space<workgroup>")
