# SPDX-License-Identifier: MIT OR Apache-2.0
"""Passes that make a given module safe to compile and to run; `safe-text` runs all of them."""
