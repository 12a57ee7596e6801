# SPDX-License-Identifier: MIT OR Apache-2.0
"""Networks exported from PyTorch with free dimensions, compiled once and run at twelve sizes."""
