# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reductions, running sums, extremes and the k largest elements."""
