# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lowers the operations of recorded graphs, a family a file."""
