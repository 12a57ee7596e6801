# SPDX-License-Identifier: MIT OR Apache-2.0
"""Python modules of upstream dialects that are lighter to import than the bindings' own.

The bindings search this package first (`xyntra.dialects.mlir` arranges that). It holds only
modules named after a dialect.
"""
