# SPDX-License-Identifier: MIT OR Apache-2.0
"""The functions of the array API standard, by its chapters; `xyntra.array` hands them out.

Each checks and promotes its arguments as the standard says, and records one operation or a few.
"""
