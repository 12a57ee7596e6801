# SPDX-License-Identifier: MIT OR Apache-2.0
"""The generated linalg op classes, without the opdsl language that defines them upstream."""

from torch_mlir.dialects import _linalg_ops_gen  # noqa: F401
