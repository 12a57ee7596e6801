# SPDX-License-Identifier: MIT OR Apache-2.0
"""Differentiates recorded graphs; gradients are recorded, too, and fuse with the rest."""
