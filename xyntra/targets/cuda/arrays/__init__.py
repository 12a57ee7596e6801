# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arrays in the memory of GPUs, ours and those of other libraries."""
