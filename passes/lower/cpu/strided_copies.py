# SPDX-License-Identifier: MIT OR Apache-2.0
"""Copies that are not contiguous on both sides become linalg, and with it loops.

`memref.copy` of contiguous memory lowers to one `memcpy`; any other lowers to a call of MLIR's
runtime library, which no kernel may depend on.
"""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.kernel_function import operations_named
from xyntra.passes.lower.cpu.memrefs import identity_map, is_contiguous


def expand_strided_copies(function: ir.Operation) -> None:
    """Replace `memref.copy` with a strided side by a `linalg.generic` that yields its input."""
    for copy in operations_named(function, "memref.copy"):
        source, target = copy.operands
        if is_contiguous(source) and is_contiguous(target):
            continue
        with ir.InsertionPoint(copy), copy.location:
            _copy_as_generic(source, target)
        copy.erase()


def _copy_as_generic(source: ir.Value, target: ir.Value) -> None:
    memref = ir.MemRefType(target.type)
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    generic = ir.Operation.create(
        "linalg.generic",
        operands=[source, target],
        attributes={
            "indexing_maps": ir.ArrayAttr.get([identity_map(memref.rank)] * 2),
            "iterator_types": ir.ArrayAttr.get([parallel] * memref.rank),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1]),
        },
        regions=1,
    )
    block = generic.regions[0].blocks.append(memref.element_type, memref.element_type)
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", operands=[block.arguments[0]])
