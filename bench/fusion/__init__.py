# SPDX-License-Identifier: MIT OR Apache-2.0
"""Counts the kernels that fusion makes of models.

How long it takes, and how that grows with their size.
"""
