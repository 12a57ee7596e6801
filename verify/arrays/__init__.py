# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares random expressions of arrays with numpy: `python -m verify.arrays`."""
