# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads and builds loops for every target's lowering: kernel functions, nests, bodies, memrefs."""
