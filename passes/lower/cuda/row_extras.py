# SPDX-License-Identifier: MIT OR Apache-2.0
"""Offers row kernels what NVIDIA GPUs have for long rows: clusters, and rows staged by cp.async."""

from __future__ import annotations

from xyntra.passes.lower.cuda.cluster_reduce import RowCluster
from xyntra.passes.lower.cuda.staged_rows import SharedMemoryRows
from xyntra.passes.lower.gpu.rows.row_extras import RowExtras

EXTRAS = RowExtras(SharedMemoryRows, RowCluster)
