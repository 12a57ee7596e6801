# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records the functions of `xyntra.lang`: each checks shapes and dtypes, and adds operators."""
