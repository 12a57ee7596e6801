# SPDX-License-Identifier: MIT OR Apache-2.0
"""Passes over the IR, their registry and the named pipelines.

A pass called `fuse-operations` lives in a file `fuse_operations.py` somewhere below this package
and is imported when it is first asked for.
"""
