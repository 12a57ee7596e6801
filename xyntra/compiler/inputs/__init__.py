# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a user hands to `compile`: models, sizes, constants, and things taken for models."""
