# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention of few queries with many keys, as when text is generated with a cache."""
