# SPDX-License-Identifier: MIT OR Apache-2.0
"""`lower-to-gpu`: one kernel on tensors becomes launches in MLIR's `gpu` dialect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.stage import STAGE
from xyntra.passes.analysis.kernel_function import direct_operations_named, kernel_function
from xyntra.passes.lower.gpu.device import DEFAULT, device_of
from xyntra.passes.lower.gpu.to_gpu import to_gpu
from xyntra.passes.lower.gpu.to_stages import to_stages
from xyntra.passes.lower.tensor.decompose_named_ops import DecomposeNamedOps
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class LowerToGpu:
    """Lower the kernel function of a module to a `gpu.module` and a function with its launches.

    A kernel that is in stages already is lowered from these, as their schedules say.

    What any GPU runs needs nothing of NVIDIA's; a device without its features gets nothing else.
    """

    name: ClassVar[str] = "lower-to-gpu"
    device: str = DEFAULT
    """What the code is for, by its name in the table of devices, or "webgpu"."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite `module`.

        Raises:
            CompileError: the kernel cannot be computed on the device.
        """
        device = device_of(self.device)
        staged = bool(direct_operations_named(kernel_function(module), STAGE))
        if not staged:
            DecomposeNamedOps(keep=("attention",)).run(module)
        with module.context, module.location:
            lowered = to_gpu(module if staged else to_stages(module, device), device)
        if lowered == module:
            return
        body = module.regions[0].blocks[0]
        for view in list(body.operations):
            view.operation.erase()
        for view in list(lowered.regions[0].blocks[0].operations):
            body.append(view.operation)
        for name in lowered.attributes:
            module.attributes[name] = lowered.attributes[name]
