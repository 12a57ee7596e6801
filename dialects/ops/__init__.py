# SPDX-License-Identifier: MIT OR Apache-2.0
"""The dialect's ops, one a file."""
