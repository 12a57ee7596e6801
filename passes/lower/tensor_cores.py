# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which GPUs' tensor cores kernels use."""

__all__ = ["MMA_ARCHITECTURES", "WGMMA_ARCHITECTURES"]

WGMMA_ARCHITECTURES = frozenset({"sm_90a"})
"""Architectures whose warpgroups multiply."""
MMA_ARCHITECTURES = frozenset({"sm_80", "sm_86", "sm_89", "sm_90a"})
"""Architectures whose warps multiply on tensor cores."""
