# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emitters for GPUs behind WebGPU."""
