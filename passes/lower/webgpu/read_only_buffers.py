# SPDX-License-Identifier: MIT OR Apache-2.0
"""`read-only-buffers`: SPIR-V says which buffers nothing is written to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.webgpu.spirv_functions import operations_in, spirv_functions
from xyntra.passes.registry import register_pass

_VARIABLE, _ADDRESS, _PART = "spirv.GlobalVariable", "spirv.mlir.addressof", "spirv.AccessChain"


@register_pass
@dataclass(frozen=True)
class ReadOnlyBuffers:
    """Mark storage buffers that are only read as `non_writable`.

    WGSL then declares them with the access mode `read`: what is loaded from them may decide about
    control flow around barriers, and a launch may read a buffer through several bindings.
    """

    name: ClassVar[str] = "read-only-buffers"

    def run(self, module: ir.Operation) -> None:
        """Mark the variables of the SPIR-V modules in `module`."""
        with module.context:
            written = {name for each in spirv_functions(module) for name in _written(each)}
            for op in operations_named(module, _VARIABLE):
                is_buffer = "StorageBuffer" in str(op.attributes["type"])
                if is_buffer and op.attributes["sym_name"].value not in written:
                    op.attributes["non_writable"] = ir.UnitAttr.get()


def _written(function: ir.Operation) -> set[str]:
    writes = ("spirv.Store", "spirv.Atomic")
    pointers = [op.operands[0] for op in operations_in(function) if op.name.startswith(writes)]
    return {name for each in pointers if (name := _variable(each))}


def _variable(pointer: ir.Value) -> str:
    owner = pointer.owner
    while owner.name == _PART:
        owner = owner.operands[0].owner
    return str(owner.attributes["variable"].value) if owner.name == _ADDRESS else ""
