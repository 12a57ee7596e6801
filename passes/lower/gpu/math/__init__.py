# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions that GPUs compute by their fast power, and those that they have no code for."""
