# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lowers kernel functions for any GPU: stages, schedules, and emitters of the `gpu` dialect."""
