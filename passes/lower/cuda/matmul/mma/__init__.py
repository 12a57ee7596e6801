# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contractions on tensor cores by mma.sync, for any shape, stride and alignment."""
