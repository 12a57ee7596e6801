# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions of angles, and the hyperbolic ones."""
