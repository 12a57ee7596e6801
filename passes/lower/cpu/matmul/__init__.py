# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contractions on CPUs: tiles of accumulators in vector registers, fed from packed panels."""
