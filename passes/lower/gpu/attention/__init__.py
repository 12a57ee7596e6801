# SPDX-License-Identifier: MIT OR Apache-2.0
"""Describes the attention of a stage: its operands, masks and sizes."""
