# SPDX-License-Identifier: MIT OR Apache-2.0
"""Launches with what NVIDIA GPUs are told beside what any GPU is."""

from __future__ import annotations

from dataclasses import dataclass, fields

from xyntra.passes.lower.cuda.tensor_map import TensorMap
from xyntra.passes.lower.gpu.emit.thread_grid import LaunchShape


@dataclass(frozen=True)
class CudaLaunch(LaunchShape):
    """A launch on an NVIDIA GPU.

    Attributes:
        maps: what `map_argument` refers to by number.
        programmatic: the launch may begin before the one ahead of it has ended; its code waits
            with `griddepcontrol.wait` before it touches what that one writes.
        resident: blocks that one multiprocessor holds at once at least, which bounds registers; 0
            to leave that to the assembler.
        steps: launches that it does one after the other, behind barriers of its cluster; 0 for one.
    """

    maps: tuple[TensorMap, ...] = ()
    programmatic: bool = False
    resident: int = 0
    steps: int = 0

    @classmethod
    def of(cls, shape: LaunchShape) -> CudaLaunch:
        """Return the launch that any emitter has given, as one on an NVIDIA GPU."""
        if isinstance(shape, cls):
            return shape
        return cls(**{each.name: getattr(shape, each.name) for each in fields(shape)})
