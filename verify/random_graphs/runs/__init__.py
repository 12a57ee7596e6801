# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles and runs models in processes of their own, and keeps those that fail."""
