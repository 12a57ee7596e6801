# SPDX-License-Identifier: MIT OR Apache-2.0
"""Everything else on CPUs.

Elementwise nests, reductions, gathers and transposes as loops over rows.
"""
