# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lowering of kernel functions: one folder a target, here and in `nests` what they share."""
