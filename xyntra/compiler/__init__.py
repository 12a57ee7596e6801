# SPDX-License-Identifier: MIT OR Apache-2.0
"""From a model to an artifact: every level in order, in a process of its own."""
