# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators that hold graphs, and what is known of the conditions that pick a branch."""
