# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the cost model knows of a target."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.passes.target_limits import LIMITS, Target

__all__ = ["MACHINES", "Machine"]


@dataclass(frozen=True)
class Machine:
    """A processor, as far as fusion is concerned.

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
    max_column_bytes: int


def _row_bytes(target: Target) -> int:
    """The largest row that the checker lets one worker keep."""
    limit = LIMITS[target].max_row_bytes
    return 1 << 62 if limit is None else limit


MACHINES = {
    "cpu": Machine(
        launch_ns=200.0,
        bytes_per_ns=12.0,
        flops_per_ns=80.0,
        scalar_flops_per_ns=20.0,
        max_buffers=64,
        max_row_bytes=_row_bytes("cpu"),
        computes_factors=True,
        computes_summands=False,
        cuts_dimensions=False,
        max_column_bytes=LIMITS["cpu"].max_column_bytes,
    ),
    "cuda": Machine(
        launch_ns=2500.0,
        bytes_per_ns=3000.0,
        flops_per_ns=60000.0,
        scalar_flops_per_ns=30000.0,
        max_buffers=64,
        max_row_bytes=_row_bytes("cuda"),
        computes_factors=False,
        computes_summands=True,
        cuts_dimensions=True,
        max_column_bytes=LIMITS["cuda"].max_column_bytes,
    ),
    "webgpu": Machine(
        launch_ns=5000.0,
        bytes_per_ns=200.0,
        flops_per_ns=5000.0,
        scalar_flops_per_ns=2500.0,
        max_buffers=8,
        max_row_bytes=_row_bytes("webgpu"),
        computes_factors=True,
        computes_summands=True,
        cuts_dimensions=True,
        max_column_bytes=LIMITS["webgpu"].max_column_bytes,
    ),
}
"""A typical processor of each target: two cores of a desktop; an H100; an integrated GPU."""
