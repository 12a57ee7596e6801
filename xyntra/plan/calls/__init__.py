# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the arguments of calls: arrays, scalars and lists, in order or by name."""
