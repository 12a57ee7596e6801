# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tunes a model: lists schedules and compiles candidates in workers, for `xyntra.tune` to search.

`spaces` and `candidates` run in workers, `session` in the process of the user.
"""
