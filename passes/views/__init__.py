# SPDX-License-Identifier: MIT OR Apache-2.0
"""Data movement that disappears: transposes, broadcasts, reshapes and slices."""
