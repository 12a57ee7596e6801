# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads kernels that are written as functions of Python.

In the caller's process, `reader` walks the syntax tree of a function and calls the typed functions
of `functions`, which record a program of operators; a worker imports that (`importer`) as linalg.
"""
