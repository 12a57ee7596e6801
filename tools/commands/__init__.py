# SPDX-License-Identifier: MIT OR Apache-2.0
"""The commands of `xyntra`, one a file; each has `add_parser` and `run`."""
