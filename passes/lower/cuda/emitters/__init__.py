# SPDX-License-Identifier: MIT OR Apache-2.0
"""The emitters that need NVIDIA's instructions, and the table of all emitters for its GPUs."""
