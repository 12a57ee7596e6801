# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra.size_of`: the attribute of a result that is the real size of a dimension of another one.

The result is one integer of 64 bits. The output that the attribute names is as large in that
dimension as it can be; what lies behind the real size means nothing, and a call cuts it off.
"""

from __future__ import annotations

from collections.abc import Iterator

from xyntra.dialects.mlir import ir

__all__ = ["SIZE_OF", "is_size_type", "read_size", "size_attribute", "sizes_of"]

SIZE_OF = "xyntra.size_of"


def size_attribute(output: str, dimension: int) -> ir.DictAttr:
    """The attribute for a dimension of the output called `output`, in the current context."""
    i64 = ir.IntegerType.get_signless(64)
    return ir.DictAttr.get(
        {"output": ir.StringAttr.get(output), "dimension": ir.IntegerAttr.get(i64, dimension)}
    )


def read_size(attribute: ir.Attribute) -> tuple[str, int]:
    """The name of the output and the dimension that an attribute speaks of.

    Raises:
        ValueError: it is not what `size_attribute` makes.
    """
    entries = {}
    if isinstance(attribute, ir.DictAttr):
        entries = {entry.name: entry.attr for entry in attribute}
    output, dimension = entries.get("output"), entries.get("dimension")
    if len(entries) != 2 or not isinstance(output, ir.StringAttr):
        raise ValueError("it does not name an output and a dimension")
    if not isinstance(dimension, ir.IntegerAttr):
        raise ValueError("its dimension is no integer")
    return str(output.value), int(dimension.value)


def is_size_type(type_: ir.Type) -> bool:
    """Tell whether a result of this type may be a size: it is one integer of 64 bits."""
    if isinstance(type_, ir.RankedTensorType):
        return type_.rank == 0 and str(type_.element_type) == "i64"
    return False


def sizes_of(function: ir.Operation) -> Iterator[tuple[int, ir.Attribute]]:
    """The results of a function that are sizes: their positions and attributes."""
    if "res_attrs" not in function.attributes:
        return
    for position, given in enumerate(ir.ArrayAttr(function.attributes["res_attrs"])):
        entries = ir.DictAttr(given)
        if SIZE_OF in entries:
            yield position, entries[SIZE_OF]
