# SPDX-License-Identifier: MIT OR Apache-2.0
"""Evaluates models in float64, and says how far a result may be off."""
