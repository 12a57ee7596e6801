# SPDX-License-Identifier: MIT OR Apache-2.0
"""What depends on weights alone, and is computed once when a model is loaded."""
