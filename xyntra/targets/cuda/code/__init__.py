# SPDX-License-Identifier: MIT OR Apache-2.0
"""Generates code for GPUs: PTX, and machine code by ptxas."""
