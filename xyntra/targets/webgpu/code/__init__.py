# SPDX-License-Identifier: MIT OR Apache-2.0
"""From kernels to WGSL, and what is kept of them."""
