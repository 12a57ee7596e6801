# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares and times whole models on GPUs behind WebGPU."""
