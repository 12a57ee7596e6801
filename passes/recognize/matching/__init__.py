# SPDX-License-Identifier: MIT OR Apache-2.0
"""Declares patterns of mathematics and finds them in linalg on tensors."""
