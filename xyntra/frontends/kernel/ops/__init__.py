# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports operators of kernels that ATen does not have; a worker loads them."""
