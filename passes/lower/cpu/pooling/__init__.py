# SPDX-License-Identifier: MIT OR Apache-2.0
"""Poolings, depthwise convolutions and reductions over positions, on vectors of channels."""
