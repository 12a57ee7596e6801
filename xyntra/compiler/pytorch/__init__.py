# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads modules, programs and files of PyTorch."""
