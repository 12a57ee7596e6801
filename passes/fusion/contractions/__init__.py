# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contractions that become one: those of one tensor with several weights, and gates."""
