# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rows in registers, with what NVIDIA GPUs have for long ones: clusters, asynchronous copies."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.cluster_reduce import RowCluster
from xyntra.passes.lower.cuda.parked_rows import ParkedRows
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import LaunchShape
from xyntra.passes.lower.gpu.rows import register_rows
from xyntra.passes.lower.gpu.rows.register_rows import RegisterRows
from xyntra.passes.lower.gpu.rows.row_extras import RowExtras

_EXTRAS = RowExtras(ParkedRows, RowCluster)


def emit_register_rows(
    found: RegisterRows, generics: Sequence[ir.Operation], shared: SharedMemory
) -> LaunchShape:
    """Emit nests; see the function of this name for every GPU."""
    return register_rows.emit_register_rows(found, generics, shared, _EXTRAS)
