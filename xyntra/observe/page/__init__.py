# SPDX-License-Identifier: MIT OR Apache-2.0
"""A page that shows the graph before and after fusion."""
