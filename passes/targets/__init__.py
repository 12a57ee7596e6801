# SPDX-License-Identifier: MIT OR Apache-2.0
"""The targets as passes see them: a file with one description for each, and the table of them.

Passes take the name of a target as an option, so that a pipeline can be written down, and ask the
description for limits, costs and preferences. No pass compares the name with anything. What
compiles, loads and runs the code of a target is its backend, in `xyntra/targets`.
"""
