# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines what a target may add to the launches of a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emit.thread_grid import LaunchShape
from xyntra.passes.lower.gpu.stages.stage import Stage


class Launching:
    """Nothing; a target overrides what it needs."""

    def decided(
        self, emitted: Sequence[tuple[Stage, LaunchShape | None]], device: GpuDevice
    ) -> list[LaunchShape | None]:
        """Return the launches of stages that hold their code, in which more may be put."""
        return [shape for _, shape in emitted]

    def joined(
        self,
        stages: Sequence[Stage],
        shapes: Sequence[LaunchShape | None],
        device: GpuDevice,
    ) -> list[LaunchShape | None]:
        """Return the launches of stages that hold nothing but their code, which may be moved.

        None takes the place of a launch whose code is in a later one.
        """
        return list(shapes)

    def finished(self, function: ir.Operation, shape: LaunchShape) -> LaunchShape:
        """Return a launch whose code is all that `function` holds, and may be changed there."""
        return shape

    def is_overlapping(self, shape: LaunchShape) -> bool:
        """Tell whether a launch begins before the one ahead has ended."""
        return False

    def operands(self, shape: LaunchShape, memory: Sequence[ir.Value]) -> list[ir.Value]:
        """Return what a launch is given behind the memory of the kernel."""
        return []

    def attributes(self, shape: LaunchShape) -> Mapping[str, ir.Attribute]:
        """Return what `gpu.launch_func` says of a launch beside its words."""
        return {}
