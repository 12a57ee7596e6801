# SPDX-License-Identifier: MIT OR Apache-2.0
"""Convolutions on CPUs with channels innermost, as products of positions with panels of weights."""
