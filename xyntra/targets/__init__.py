# SPDX-License-Identifier: MIT OR Apache-2.0
"""Turns lowered kernels into code that runs: a folder for each target, and the table of targets.

`table.py` lists the targets. Each has a `backend.py`, which answers what the levels above ask of
it: these go through the table, and know no target by its name. `base.py` has the questions, and
`program.py` those to a compiled model.
"""
