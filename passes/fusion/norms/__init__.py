# SPDX-License-Identifier: MIT OR Apache-2.0
"""Norms beside contractions.

Folded into the products that read them, or cut in two steps where rows are long.
"""
