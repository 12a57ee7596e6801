# SPDX-License-Identifier: MIT OR Apache-2.0
"""What runs in which order, into which buffers."""
