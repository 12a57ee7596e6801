# SPDX-License-Identifier: MIT OR Apache-2.0
"""The search for the groups of operations that share a kernel, by the predicted time."""
