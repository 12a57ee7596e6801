# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures what a lower precision costs and saves, and shows it."""
