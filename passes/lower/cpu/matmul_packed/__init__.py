# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products with weights of 4 or 8 bits, dequantized in registers or, for many rows, in a cache."""
