# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds mathematics that deserves a named op in linalg on tensors.

`matching` declares patterns and finds them, `patterns` holds ours, `attention` finds attention
around a softmax, and `egraph` rewrites elementwise expressions by equality saturation.
"""
