# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs measurements: processes, turns, quiet moments, files of results. It knows no target.

Processes, turns, quiet moments, files of results. It knows no target.
"""
