# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators on sequences and optionals, which are there only while a model is imported."""
