# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs one kernel of a model alone, in a process that may crash or hang.

`subject` says what is run and on which data, `server` is the process, `process` its owner's side.
"""
