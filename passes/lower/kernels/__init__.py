# SPDX-License-Identifier: MIT OR Apache-2.0
"""Analyses kernels on buffers for the lowering of every target.

Epilogues, fills, groups of rows, operands.
"""
