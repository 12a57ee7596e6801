# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loops that threads share: whether it pays, and the jobs that the thread pool is given."""
