# SPDX-License-Identifier: MIT OR Apache-2.0
"""Free dimensions of plans."""
