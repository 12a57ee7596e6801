# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses an emitter for each loop nest, writes it into the IR, and reads schedules back."""
