# SPDX-License-Identifier: MIT OR Apache-2.0
"""Encodes SPIR-V, by way of MLIR's compilation of `gpu.module`."""

from __future__ import annotations

from torch_mlir.dialects import gpu

from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.upstream import run_upstream

_ENVIRONMENT = "spirv.target_env"


def spirv_binary(module: ir.Operation) -> bytes:
    """Return the binary of the one SPIR-V module in `module`, which is not changed.

    Raises:
        CompileError: there is not one, or MLIR cannot encode it.
    """
    found = operations_named(module, "spirv.module")
    if len(found) != 1:
        raise CompileError("kernel-text", f"a kernel has {len(found)} SPIR-V modules, not one")
    environment = module.attributes[_ENVIRONMENT]
    with module.context, module.location:
        holder = ir.Module.parse(
            "module attributes {gpu.container_module} "
            f"{{ gpu.module @code [{environment}] {{ }} }}"
        )
        inner = holder.body.operations[0].operation.regions[0].blocks[0]
        inner.append(found[0].clone().operation)
        try:
            run_upstream(holder.operation, "gpu-module-to-binary", verify=False)
        except ir.MLIRError as error:
            message = "MLIR cannot encode the SPIR-V of a kernel"
            raise CompileError("spirv-encoding", message, cause=str(error)) from error
        binary = holder.body.operations[0].operation
        return bytes(gpu.ObjectAttr(binary.attributes["objects"][0]).object)
