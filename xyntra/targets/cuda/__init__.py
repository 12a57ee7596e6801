# SPDX-License-Identifier: MIT OR Apache-2.0
"""NVIDIA GPUs: PTX, and NVIDIA's driver."""
