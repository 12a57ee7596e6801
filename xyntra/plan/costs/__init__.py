# SPDX-License-Identifier: MIT OR Apache-2.0
"""Predicted costs of kernels, as plain data of a plan."""
