# SPDX-License-Identifier: MIT OR Apache-2.0
"""Plans a call: the kernels in order, and the buffers that they read and write."""
