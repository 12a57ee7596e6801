# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contractions in every type, in plain threads."""
