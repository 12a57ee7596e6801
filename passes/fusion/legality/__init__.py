# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that one kernel may hold the operations of a region, whoever put them there."""
