# SPDX-License-Identifier: MIT OR Apache-2.0
"""The dialect's attributes, one a file, each beside the Python value that it stands for."""
