# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is known of a contraction in a stage: its loops, factors, and what belongs to it."""
