# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products of 8-bit integers on CPUs by dot-product instructions."""
