# SPDX-License-Identifier: MIT OR Apache-2.0
"""Readers of model formats: each turns a file into linalg on tensors, weights kept outside."""
