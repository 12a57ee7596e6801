# SPDX-License-Identifier: MIT OR Apache-2.0
"""The rewrite rules of equality saturation, and their form."""
