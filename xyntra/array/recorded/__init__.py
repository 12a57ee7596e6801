# SPDX-License-Identifier: MIT OR Apache-2.0
"""Graphs of operations on arrays: recorded, reduced to a key, compiled once for it, and run.

Knows nothing of the class of arrays and its functions, which record into it.
"""
