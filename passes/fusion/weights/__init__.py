# SPDX-License-Identifier: MIT OR Apache-2.0
"""Moves what depends on weights alone to where the model is loaded, so that it runs once."""
