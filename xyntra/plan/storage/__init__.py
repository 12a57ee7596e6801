# SPDX-License-Identifier: MIT OR Apache-2.0
"""Stores saved models and other files."""
