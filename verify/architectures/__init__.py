# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles architectures of model libraries with random weights, and checks the numbers."""
