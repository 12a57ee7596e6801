# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operations whose result is another view of their first operand: they move no element."""

from __future__ import annotations

__all__ = ["MEMREF_VIEWS", "RESHAPES", "TENSOR_VIEWS"]

RESHAPES = frozenset({"tensor.collapse_shape", "tensor.expand_shape"})
"""Another shape for the same elements in the same order."""

TENSOR_VIEWS = RESHAPES | {"tensor.extract_slice"}
"""Another shape, or some of the elements."""

MEMREF_VIEWS = frozenset(
    [
        "memref.cast",
        "memref.collapse_shape",
        "memref.expand_shape",
        "memref.reinterpret_cast",
        "memref.subview",
        "memref.view",
    ]
)
"""Operations on buffers whose result shares the memory of their first operand."""
