# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pieces of LLVM IR that read tables, objects and arrays at known offsets."""

from __future__ import annotations

import ctypes

__all__ = ["field", "fields", "loaded"]


def loaded(name: str, base: str, offset: int, kind: str = "i64") -> str:
    """Load a value behind a pointer.

    Args:
        name: of the value, and with `.at` of its address.
        base: the pointer.
        offset: bytes.
        kind: type in LLVM IR.
    """
    return (
        f"  %{name}.at = getelementptr i8, ptr %{base}, i64 {offset}\n"
        f"  %{name} = load {kind}, ptr %{name}.at\n"
    )


def field(table: type[ctypes.Structure], name: str) -> str:
    """Load a field of the table that `%table` points to: an address, or a number of 64 bits."""
    is_number = {each[0]: each[1] for each in table._fields_}[name] is ctypes.c_int64
    return loaded(name, "table", getattr(table, name).offset, "i64" if is_number else "ptr")


def fields(table: type[ctypes.Structure], *names: str) -> str:
    """Load several fields, as `field` does."""
    return "".join(field(table, name) for name in names)
