# SPDX-License-Identifier: MIT OR Apache-2.0
"""Walks the syntax tree of a kernel's function, and records what it does with arrays."""
