# SPDX-License-Identifier: MIT OR Apache-2.0
"""Shows where time goes: latencies and tables of kernels, traces, flame graphs and rooflines.

What was measured comes in as numbers; `xyntra.spans` records, and the command line measures.
"""
