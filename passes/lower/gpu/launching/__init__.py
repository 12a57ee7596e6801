# SPDX-License-Identifier: MIT OR Apache-2.0
"""From stages with code in them to functions of a device and the launches of a host."""
