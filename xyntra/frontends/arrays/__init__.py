# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports graphs that `xyntra.array` has recorded as linalg on tensors."""
