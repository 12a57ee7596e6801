# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lowering of kernel functions, with a folder for each target: `cpu`, `gpu` and, above it, `cuda`.

What targets share is in `tensor` (before there are buffers), `buffers`, `scalar`, `loops` (over
flat memory, with their builders) and `kernels` (what is known of whole kernels). None of these
knows a target.
"""
