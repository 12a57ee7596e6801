# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators that compute each element from the elements at its position."""
