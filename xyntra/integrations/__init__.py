# SPDX-License-Identifier: MIT OR Apache-2.0
"""Entry points of other systems that lead to Xyntra, each by that system's own interface.

They call what users call; nothing in Xyntra but its tools imports them.
"""
