# SPDX-License-Identifier: MIT OR Apache-2.0
"""`strided-copies`: copies that are not contiguous become loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.analysis.sizes.session import SIZES
from xyntra.passes.lower.loops.memrefs import identity_map, is_contiguous
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class StridedCopies:
    """Replace `memref.copy` with a strided side by a linalg.generic that yields its input.

    Between contiguous buffers `memref.copy` lowers to one `memcpy`; any other lowers to a call of
    MLIR's runtime library, which no kernel may depend on. In kernels that are told their sizes all
    are replaced: how many bytes a `memcpy` moves is a number.
    """

    name: ClassVar[str] = "strided-copies"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every copy below `module`."""
        for copy in operations_named(module, "memref.copy"):
            source, target = copy.operands
            if is_contiguous(source) and is_contiguous(target) and not _is_told_sizes(copy):
                continue
            with copy.location, ir.InsertionPoint(copy):
                _copy_as_generic(source, target)
            copy.erase()


def _is_told_sizes(op: ir.Operation) -> bool:
    """Tell whether `op` is in a kernel that is told its sizes."""
    while op.name != "func.func":
        op = op.parent.operation
    return SIZES in op.attributes


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
