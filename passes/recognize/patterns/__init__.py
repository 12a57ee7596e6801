# SPDX-License-Identifier: MIT OR Apache-2.0
"""The patterns that come with Xyntra."""
