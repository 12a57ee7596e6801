# SPDX-License-Identifier: MIT OR Apache-2.0
"""Elementwise operations that reductions compute in their own loops."""
