# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention on CPUs: blocks of queries against chunks of keys, packed in panels."""
