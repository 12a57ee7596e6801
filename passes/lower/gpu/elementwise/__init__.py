# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arithmetic, transposes and gathers: a thread for a few elements."""
