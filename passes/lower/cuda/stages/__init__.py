# SPDX-License-Identifier: MIT OR Apache-2.0
"""Passes that change stages where NVIDIA's tensor cores and copies gain by it."""
