# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contractions in exact f32 by fused multiply-adds."""
