# SPDX-License-Identifier: MIT OR Apache-2.0
"""Launches on a GPU: what they occupy, and how they overlap."""
