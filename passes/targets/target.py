# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines what a target tells the passes: limits, costs, preferences and steps of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xyntra.passes.targets.layout_rates import LayoutRates

__all__ = ["ITSELF", "KernelLimits", "Machine", "Target"]

ITSELF = "*"
"""Stands for the element that the steps of a target take the place of."""


@dataclass(frozen=True)
class KernelLimits:
    """Upper limits for one kernel; None where the target has none.

    The fusion engine forms kernels within them, and the checker accepts no others.

    Attributes:
        max_buffers: tensors that it reads and writes.
        max_operations: operations with a loop nest of their own.
        max_row_bytes: bytes of one row of a tensor that a worker keeps to itself, and of a whole
            tensor that every worker has to compute for itself. Longer rows are reduced by kernels
            that share a row between workers, which leave what follows to another kernel.
        max_column_bytes: bytes of a column of a tensor, of elements that lie apart, that operations
            may share; 0 where columns are not shared.
    """

    max_buffers: int | None = None
    max_operations: int | None = None
    max_row_bytes: int | None = None
    max_column_bytes: int = 0


@dataclass(frozen=True)
class Machine:
    """A typical processor of a target, as far as the cost model of fusion is concerned.

    Attributes:
        launch_ns: time from the end of one kernel to the start of the next, in nanoseconds.
        bytes_per_ns: memory bandwidth of the whole processor (GB/s).
        flops_per_ns: peak rate of matrix units, multiply and add counted apart (GFLOP/s).
        scalar_flops_per_ns: peak rate of everything else.
        max_buffers: tensors that one kernel may read and write.
        max_row_bytes: largest row that one worker can keep to itself.
        computes_factors: whether a contraction or a window computes in its tiles what it reads.
        computes_summands: whether a reduction that shares no rows with what it reads computes that.
        cuts_dimensions: whether rows may begin inside of a dimension, between groups of channels.
        max_column_bytes: longest column that threads keep; 0 where operations share no columns.
        runs_side_by_side: whether one launch computes operations that have nothing in common.
    """

    launch_ns: float
    bytes_per_ns: float
    flops_per_ns: float
    scalar_flops_per_ns: float
    max_buffers: int
    max_row_bytes: int
    computes_factors: bool
    computes_summands: bool
    cuts_dimensions: bool
    max_column_bytes: int = 0
    runs_side_by_side: bool = False


@dataclass(frozen=True, kw_only=True)
class Target:
    """A target, as passes see it.

    Attributes:
        name: as options of passes have it.
        limits: of one kernel.
        machine: for the cost model of fusion.
        layouts: what copies and convolutions take, for the choice of layouts.
        is_simt: whether code is that of one thread among many, side by side: these read contiguous
            elements together and share long rows, where a core works on vectors and keeps a row.
        copies_tiles: whether asynchronous copies bring the tiles of a matmul: they take four
            contiguous bytes at least, and smaller elements that lie apart are loaded one by one.
        multiplies_16_bits: whether products of 16-bit floats are no slower than those of f32, so
            that a lower precision is one of all tensors; elsewhere of stored weights alone.
        multiplies_float8: whether some GPUs of the target multiply floats of 8 bits, so that
            products of dequantized ones read these.
        fuse_steps: what takes the place of passes of the pipeline `fuse`, by their name.
        calls_with_parts: whether kernels can be called with contiguous parts of buffers.
        kernel_loops: the pipeline that makes kernel functions ready for the target's lowering.
        scheduled: the operation that schedules stand on at the level of stages.
    """

    name: str
    limits: KernelLimits
    machine: Machine
    layouts: LayoutRates
    is_simt: bool
    copies_tiles: bool = False
    multiplies_16_bits: bool = False
    multiplies_float8: bool = False
    calls_with_parts: bool = True
    fuse_steps: Mapping[str, tuple[str, ...]]
    kernel_loops: str
    scheduled: str
