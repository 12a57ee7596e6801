# SPDX-License-Identifier: MIT OR Apache-2.0
"""Answers what every pass asks of the IR, whatever that computes.

Who made a value, who reads it, what is nested.
"""
