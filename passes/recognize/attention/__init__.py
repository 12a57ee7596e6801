# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds attention around a softmax, with its masks, and says it as one operation."""
