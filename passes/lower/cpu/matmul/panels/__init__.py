# SPDX-License-Identifier: MIT OR Apache-2.0
"""Panels of operands in the order in which products read them."""
