# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pooling, and convolutions of each channel by itself."""
