# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scalar arithmetic with a value for every operand, whatever the target."""
