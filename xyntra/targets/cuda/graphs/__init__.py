# SPDX-License-Identifier: MIT OR Apache-2.0
"""Launches and CUDA graphs of launches."""
