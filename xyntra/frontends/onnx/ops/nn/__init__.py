# SPDX-License-Identifier: MIT OR Apache-2.0
"""Layers of neural networks and what else is one big loop.

Contractions, windows, norms, attention.
"""
