# SPDX-License-Identifier: MIT OR Apache-2.0
"""Describes the contraction of a stage: its loops, operands, prologue and epilogue."""
