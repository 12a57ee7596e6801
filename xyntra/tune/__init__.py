# SPDX-License-Identifier: MIT OR Apache-2.0
"""Searches for the schedules of kernels, measures them, and keeps what was found.

Nothing here compiles: what makes code of a schedule is handed in from above. The optional packages
of the extra `tune` are imported where they are used.
"""
