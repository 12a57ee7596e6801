# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random models for GPUs against float64, compiled on one machine and run on another."""
