# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rewrites elementwise expressions into cheaper equal ones, by equality saturation."""
