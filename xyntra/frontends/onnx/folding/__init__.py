# SPDX-License-Identifier: MIT OR Apache-2.0
"""Nodes whose inputs are known, evaluated at import."""
