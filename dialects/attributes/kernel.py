# SPDX-License-Identifier: MIT OR Apache-2.0
"""`#xyntra.kernel<{kind = "row"}>`: as its attribute `xyntra.kernel`, makes a function a kernel."""

from dataclasses import dataclass
from typing import Any

from xyntra.dialects.attributes.fields import from_value, read_fields
from xyntra.dialects.base import Xyntra, ir
from xyntra.dialects.kinds import KINDS, Kind
from xyntra.errors import CompileError

__all__ = ["KernelAttr", "KernelFacts"]

_NAME = "xyntra.kernel"


class KernelAttr(Xyntra.Attribute, name="kernel"):
    """Holds the dictionary; `KernelFacts` gives its entries their meaning and checks them."""

    fields: ir.DictAttr


@dataclass(frozen=True)
class KernelFacts:
    """The attributes of a kernel function.

    Raises:
        CompileError: `kind` is not one of `KINDS`.
    """

    kind: Kind

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise _bad(f"the kind of a kernel is one of {', '.join(KINDS)}, got {self.kind!r}")

    def to_attribute(self) -> KernelAttr:
        """Return the attribute in the current context."""
        fields = ir.DictAttr.get({"kind": from_value(self.kind)})
        attribute: KernelAttr = KernelAttr.get(fields)
        return attribute

    def mark(self, function: ir.Operation) -> None:
        """Make `function` a kernel of this kind."""
        function.attributes[_NAME] = self.to_attribute()

    @classmethod
    def of(cls, function: ir.Operation) -> "KernelFacts | None":
        """Return what `function` is marked with, or None where it is no kernel.

        Raises:
            CompileError: the mark is not a valid `#xyntra.kernel`.
        """
        if _NAME not in function.attributes:
            return None
        return cls.from_attribute(function.attributes[_NAME])

    @classmethod
    def from_attribute(cls, attribute: ir.Attribute) -> "KernelFacts":
        """Return what `attribute` holds.

        Raises:
            CompileError: it is another attribute, or an entry is missing, unknown or mistyped.
        """
        if not isinstance(attribute, KernelAttr):
            raise _bad(f"a #xyntra.kernel was expected, got {attribute}")
        values: dict[str, Any] = read_fields(attribute.fields, {"kind": ""}, _bad)
        return cls(**{"kind": "", **values})


def _bad(message: str) -> CompileError:
    return CompileError("bad-kernel-attribute", message)
