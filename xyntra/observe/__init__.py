# SPDX-License-Identifier: MIT OR Apache-2.0
"""Shows what a compiled model consists of, and what it costs."""
