# SPDX-License-Identifier: MIT OR Apache-2.0
"""NVIDIA's driver: contexts, memory, copies, limits."""
