# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads and creates `xyntra.attention`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from torch_mlir import ir

from xyntra.dialects.tensors.positions import Position, parse_map, to_map

__all__ = ["OP", "Access", "Attention", "MaskedRows", "attention_flops"]

MaskedRows = Literal["nan", "zero", "zero_if_empty"]

OP = "xyntra.attention"
_FLOPS_OF_EXP = 10


@dataclass(frozen=True)
class Access:
    """A tensor and where it is read or written, over the six loops of `attention_layout`."""

    value: ir.Value
    positions: tuple[Position, ...]


@dataclass(frozen=True)
class Attention:
    """The operands and attributes of a `xyntra.attention`, whose docstring explains them.

    `written` are the positions of the result; a `softcap` of 0 stands for none.
    """

    query: Access
    key: Access
    value: Access
    keep: Access | None
    bias: Access | None
    written: tuple[Position, ...]
    sizes: tuple[int, ...]
    scale: float
    causal_offset: int | None = None
    fill: float = float("-inf")
    masked_rows: MaskedRows = "nan"
    fill_last: bool = False
    softcap: float = 0.0
    limit: Access | None = None

    @staticmethod
    def of(op: ir.Operation) -> Attention:
        """Read a verified operation."""
        return Attention.read(op.attributes, list(op.operands))

    @staticmethod
    def read(attributes: Mapping[str, Any], operands: Sequence[ir.Value]) -> Attention:
        """Read the attributes of a verified operation, with operands that may be others."""
        sizes = tuple(attributes["sizes"])
        parsed = [parse_map(each.value, sizes) or () for each in attributes["indexing_maps"]]
        query, key, value, *masks = map(Access, operands, parsed)
        rest = iter(masks)
        present = list(attributes["operandSegmentSizes"])[3:]
        keep, bias, limit = (next(rest) if count else None for count in present)
        offset = attributes["causal_offset"].value if "causal_offset" in attributes else 0
        return Attention(
            query, key, value, keep, bias, parsed[-1], sizes,
            scale=attributes["scale"].value,
            causal_offset=offset if attributes["causal"].value else None,
            fill=attributes["fill"].value if "fill" in attributes else float("-inf"),
            masked_rows=attributes["masked_rows"].value,
            fill_last="fill_last" in attributes,
            softcap=attributes["softcap"].value if "softcap" in attributes else 0.0,
            limit=limit,
        )  # fmt: skip

    @property
    def operands(self) -> list[Access]:
        """All operands that are present, in order."""
        given = (self.query, self.key, self.value, self.keep, self.bias, self.limit)
        return [operand for operand in given if operand is not None]

    def create(
        self, shape: Sequence[int], location: ir.Location, ip: ir.InsertionPoint
    ) -> ir.Operation:
        """Create the operation, with a result of `shape`."""
        element = ir.RankedTensorType(self.query.value.type).element_type
        with location:
            kind = ir.RankedTensorType.get(shape, element)
            attributes = self._attributes()
        return ir.Operation.create(
            OP,
            results=[kind],
            operands=[operand.value for operand in self.operands],
            attributes=attributes,
            loc=location,
            ip=ip,
        )

    def _attributes(self) -> dict[str, ir.Attribute]:
        f32 = ir.F32Type.get()
        positions = [*(operand.positions for operand in self.operands), self.written]
        maps = [ir.AffineMapAttr.get(to_map(each, self.sizes)) for each in positions]
        optional = (self.keep, self.bias, self.limit)
        present = [1, 1, 1, *(int(each is not None) for each in optional)]
        attributes: dict[str, ir.Attribute] = {
            "scale": ir.FloatAttr.get(f32, self.scale),
            "causal": ir.BoolAttr.get(self.causal_offset is not None),
            "masked_rows": ir.StringAttr.get(self.masked_rows),
            "sizes": ir.DenseI64ArrayAttr.get(list(self.sizes)),
            "indexing_maps": ir.ArrayAttr.get(maps),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get(present),
        }
        if self.causal_offset:
            i64 = ir.IntegerType.get_signless(64)
            attributes["causal_offset"] = ir.IntegerAttr.get(i64, self.causal_offset)
        if self.fill_last:
            attributes["fill_last"] = ir.UnitAttr.get()
        if self.fill != float("-inf"):
            attributes["fill"] = ir.FloatAttr.get(f32, self.fill)
        if self.softcap:
            attributes["softcap"] = ir.FloatAttr.get(f32, self.softcap)
        return attributes


def attention_flops(op: ir.Operation) -> int:
    """Floating-point operations of a `xyntra.attention`: two contractions and the softmax.

    Half of the scores count where `causal` excludes keys, which is exact for as many queries.
    """
    b, h, s, t, d, e = op.attributes["sizes"]
    scores = b * h * s * t
    if op.attributes["causal"].value and "fill" not in op.attributes:
        scores = max(scores // 2, b * h * s)
    return int(scores * (2 * d + 2 * e + _FLOPS_OF_EXP + 4))
