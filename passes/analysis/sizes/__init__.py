# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels whose sizes are arguments: read off samples of sizes, lowered once, with guards.

`size` is an int that knows its expression, `session` what a kernel is lowered with, `agreement`
finds the expressions in kernels of several samples. Emitters need none of these: they compute
with sizes as with any int.
"""
