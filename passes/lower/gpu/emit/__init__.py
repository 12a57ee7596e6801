# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builders that the emitters of every GPU share."""
