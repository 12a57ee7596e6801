# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures compile and start-up times, each in processes of its own."""
