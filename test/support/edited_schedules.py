# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lowers kernels of CPUs by schedules that tests choose, in the place of the usual ones."""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.cpu import LoweredKernel, LoweringOptions, from_nests, to_nests


def edited(
    emitter: str, choices: dict[str, object]
) -> Callable[[ir.Module, LoweringOptions], LoweredKernel]:
    """Return what lowers a kernel whose scheduled operations are given to an emitter."""

    def lower(module: ir.Module, options: LoweringOptions) -> LoweredKernel:
        nests = ir.Module.parse(str(to_nests(module, options)))
        with nests.context:
            for op in operations_named(nests.operation, "linalg.generic"):
                if "xyntra.schedule" in op.attributes:
                    Schedule(emitter, choices).attach(op)
        return from_nests(nests, options)

    return lower
