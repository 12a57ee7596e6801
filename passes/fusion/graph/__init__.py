# SPDX-License-Identifier: MIT OR Apache-2.0
"""The operations of a block as fusion sees them.

What each reads, how its loops walk, what kind of kernel it makes.
"""
