# SPDX-License-Identifier: MIT OR Apache-2.0
"""`allocate-workgroup-memory`: workgroup memory is allocated where it was an argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import entry_block, operations_named
from xyntra.passes.registry import register_pass

_COUNT, _SAID = "workgroup_attributions", "workgroup_attrib_attrs"


@register_pass
@dataclass(frozen=True)
class AllocateWorkgroupMemory:
    """Replace the workgroup attributions of every `gpu.func` by allocations at its beginning.

    MLIR makes variables of SPIR-V's storage class Workgroup of such allocations, and does not lower
    attributions.
    """

    name: ClassVar[str] = "allocate-workgroup-memory"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the functions of `module`."""
        for function in operations_named(module, "gpu.func"):
            _allocate(function)


def _allocate(function: ir.Operation) -> None:
    attributes, block = function.attributes, entry_block(function)
    count = ir.IntegerAttr(attributes[_COUNT]).value if _COUNT in attributes else 0
    inputs = len(block.arguments) - count
    none = ir.DenseI32ArrayAttr.get([0, 0], function.context)
    with function.location, ir.InsertionPoint.at_block_begin(block):
        for argument in list(block.arguments)[inputs : inputs + count]:
            kind = ir.MemRefType(argument.type)
            space = ir.Attribute.parse("#spirv.storage_class<Workgroup>")
            kind = ir.MemRefType.get(kind.shape, kind.element_type, kind.layout, space)
            created = ir.Operation.create(
                "memref.alloc", results=[kind], attributes={"operandSegmentSizes": none}
            )
            argument.replace_all_uses_with(created.result)
    for _ in range(count):
        block.erase_argument(inputs)
    for name in (_COUNT, _SAID):
        if name in attributes:
            del attributes[name]
