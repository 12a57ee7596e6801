# SPDX-License-Identifier: MIT OR Apache-2.0
"""Decides what changes the speed of a kernel and not its meaning."""
