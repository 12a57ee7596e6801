# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every emitter for GPUs behind WebGPU: those of any GPU."""

from __future__ import annotations

from xyntra.passes.lower.gpu.emitters.table import FAMILIES

__all__ = ["FAMILIES"]
