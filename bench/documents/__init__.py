# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes what was measured into the tables of the documents."""
