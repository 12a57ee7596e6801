# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators of the domain com.microsoft on floats."""
