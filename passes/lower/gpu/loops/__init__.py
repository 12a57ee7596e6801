# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loops of any kind, shared among threads."""
