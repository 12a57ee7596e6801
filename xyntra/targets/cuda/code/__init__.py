# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which code a GPU runs, and how it is made: PTX, and machine code by ptxas."""
