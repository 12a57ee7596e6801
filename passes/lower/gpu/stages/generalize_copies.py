# SPDX-License-Identifier: MIT OR Apache-2.0
"""`generalize-copies`: copies of memory become loops like any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import kernel_function, operations_named
from xyntra.passes.lower.loops.memrefs import identity_map
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class GeneralizeCopies:
    """Replace every memref.copy by a linalg.generic that yields what it reads."""

    name: ClassVar[str] = "generalize-copies"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`."""
        copies = operations_named(kernel_function(module), "memref.copy")
        for copy in copies:
            with copy.location, ir.InsertionPoint(copy):
                copying(*copy.operands)
        for copy in copies:
            copy.erase()


def copying(source: ir.Value, target: ir.Value) -> ir.Operation:
    """Return a new linalg.generic that copies one memref to another."""
    kind = ir.MemRefType(target.type)
    maps = [identity_map(kind.rank)] * 2
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    generic = ir.Operation.create(
        "linalg.generic",
        operands=[source, target],
        attributes={
            "indexing_maps": ir.ArrayAttr.get(maps),
            "iterator_types": ir.ArrayAttr.get([parallel] * kind.rank),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1]),
        },
        regions=1,
    )
    elements = [kind.element_type] * 2
    block = generic.regions[0].blocks.append(*elements)
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", operands=[block.arguments[0]])
    return generic
