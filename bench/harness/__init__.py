# SPDX-License-Identifier: MIT OR Apache-2.0
"""What every measurement stands on.

Processes, turns, quiet moments, files of results. It knows no target.
"""
