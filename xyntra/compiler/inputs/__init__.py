# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads what users give to `compile`: models, sizes, constants, and things taken for models."""
