# SPDX-License-Identifier: MIT OR Apache-2.0
"""Running sums along rows, and sorted keys."""
