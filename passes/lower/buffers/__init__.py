# SPDX-License-Identifier: MIT OR Apache-2.0
"""From tensors to memory: results, scratch and copies of a kernel, for every target."""
