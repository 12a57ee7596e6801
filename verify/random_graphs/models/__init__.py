# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws models: a builder, makers of operators, and motifs of several."""
