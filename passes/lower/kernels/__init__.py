# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the lowering of every target knows of kernels on buffers.

Epilogues, fills, groups of rows, operands.
"""
