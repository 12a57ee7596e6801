# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds mathematics that deserves a named op in linalg on tensors."""
