# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares programs of arrays, as people write them with numpy, with the same of numpy."""
