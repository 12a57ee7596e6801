# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators that make, move, join, take apart and select elements."""
