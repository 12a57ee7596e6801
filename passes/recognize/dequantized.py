# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds tensors that are dequantized integers, behind reshapes and padding with zeros."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, prod

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype
from xyntra.dialects.mlir import ir
from xyntra.dialects.narrow import FLOAT8_TYPES
from xyntra.passes.analysis.owners import constant_attribute
from xyntra.passes.analysis.views import RESHAPES

__all__ = ["Dequantized", "DequantizedParameter", "behind_steps", "dequantized"]

_EXTENSIONS = {"arith.extsi": "int8", "arith.extui": "uint8"}
_FLOAT8 = {mlir: name for name, mlir in FLOAT8_TYPES.items()}
_CONVERSIONS = {"arith.sitofp": "int8", "arith.uitofp": "uint8"}


@dataclass(frozen=True)
class DequantizedParameter:
    """A scale or a zero point: a number, or a tensor with the map by which elements read it."""

    number: float | None = None
    read: tuple[Tensor, ir.AffineMap] | None = None

    @property
    def dims(self) -> frozenset[int]:
        """The dimensions along which it varies."""
        if self.read is None:
            return frozenset()
        tensor, map_ = self.read
        return frozenset(
            expression.position
            for expression, extent in zip(map_.results, tensor.shape, strict=True)
            if extent > 1 and isinstance(expression, ir.AffineDimExpr)
        )


@dataclass(frozen=True)
class Dequantized:
    """A tensor that holds scale * (integers - zero), after `steps`.

    Attributes:
        integers: 8 bits wide; or floats of 8 bits, of which the zero point is 0.
        zero: the zero point.
        scale: the scale.
        steps: what the tensor has gone through since, in order: reshapes and padding with 0.
    """

    integers: Tensor
    zero: DequantizedParameter
    scale: DequantizedParameter
    steps: tuple[ir.Operation, ...]

    @property
    def is_padded(self) -> bool:
        """Tell whether elements were added."""
        return any(op.name == "tensor.pad" for op in self.steps)

    def moved_dims(self, dims: frozenset[int]) -> frozenset[int]:
        """Return the dimensions after the steps that vary where `dims` varied before them."""
        for op in self.steps:
            if op.name == "tensor.pad":
                continue
            groups = [[int(d) for d in group] for group in op.attributes["reassociation"]]
            if op.name == "tensor.collapse_shape":
                dims = frozenset(i for i, group in enumerate(groups) if dims & set(group))
            else:
                dims = frozenset(d for i in dims for d in groups[i])
        return dims

    def follow(self, b: TensorBuilder, tensor: Tensor, filler: int) -> Tensor:
        """Take `tensor`, of the shape of the integers, through the steps, padding with `filler`."""
        for op in self.steps:
            if op.name == "tensor.pad":
                low, high = (
                    list(ir.DenseI64ArrayAttr(op.attributes[f"static_{side}"]))
                    for side in ("low", "high")
                )
                tensor = b.pad(tensor, low, high, filler)
            else:
                shape = list(ir.RankedTensorType(op.results[0].type).shape)
                tensor = b.reshape(tensor, shape)
        return tensor


def dequantized(value: ir.Value) -> Dequantized | None:
    """Return what `value` was dequantized from; None where that is not known."""
    value, steps = behind_steps(value)
    if isinstance(value.owner, ir.Block):
        return None
    op = value.owner.operation
    if op.name != "linalg.generic" or len(op.results) != 1 or not _reads_bytes(op):
        return None
    return _match(op, tuple(steps))


def behind_steps(value: ir.Value) -> tuple[ir.Value, list[ir.Operation]]:
    """Return what `value` was before reshapes and padding with zeros, and these, in order."""
    steps: list[ir.Operation] = []
    while not isinstance(value.owner, ir.Block) and _is_step(value.owner.operation):
        steps.insert(0, value.owner.operation)
        value = value.owner.operation.operands[0]
    return value, steps


def _reads_bytes(op: ir.Operation) -> bool:
    """Whether a tensor of 8-bit integers is among the operands: of most operations, none is."""
    types = [value.type for value in op.operands]
    tensors = [type_ for type_ in types if isinstance(type_, ir.RankedTensorType)]
    return any(str(tensor.element_type) == "i8" for tensor in tensors)


def _is_step(op: ir.Operation) -> bool:
    if op.name in RESHAPES:
        return bool(prod(ir.RankedTensorType(op.results[0].type).shape))
    if op.name != "tensor.pad" or len(op.operands) != 1:
        return False
    filler = constant_attribute(list(op.regions[0].blocks[0].operations)[-1].operation.operands[0])
    return isinstance(filler, ir.FloatAttr) and filler.value == 0


def _match(op: ir.Operation, steps: tuple[ir.Operation, ...]) -> Dequantized | None:
    if any("parallel" not in str(kind) for kind in op.attributes["iterator_types"]):
        return None
    block = op.regions[0].blocks[0]
    body = _Body(op, block)
    result = list(block.operations)[-1].operation.operands[0]
    product = body.defining(result, "arith.mulf")
    factors: Sequence[ir.Value] = [result] if product is None else list(product.operands)
    for place, factor in enumerate(factors):
        source = body.centred(factor)
        if source is None:
            continue
        scale = body.parameter(factors[1 - place], "float32") if product is not None else _ONE
        integers, zero = source
        if scale is None or zero is None or not body.is_identity(integers):
            return None
        if scale.number is not None and not isfinite(scale.number):
            return None
        tensor = Tensor(op.operands[integers[0]], integers[1])
        return Dequantized(tensor, zero, scale, steps)
    return None


_ONE = DequantizedParameter(1.0)
_NONE = DequantizedParameter(0.0)
_Argument = tuple[int, str]


class _Body:
    """The body of an elementwise operation."""

    def __init__(self, op: ir.Operation, block: ir.Block) -> None:
        self.op = op
        self.arguments = list(block.arguments)
        self.maps = [ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"]]

    def defining(self, value: ir.Value, *names: str) -> ir.Operation | None:
        if isinstance(value.owner, ir.Block) or value.owner.operation.name not in names:
            return None
        return value.owner.operation

    def float8(self, value: ir.Value) -> _Argument | None:
        """Return the floats of 8 bits that a float of 32 is one of."""
        wide = self.defining(value, "arith.extf")
        bits = None if wide is None else self.defining(wide.operands[0], "arith.bitcast")
        kind = "" if bits is None else str(bits.result.type)
        if bits is None or kind not in _FLOAT8 or str(value.type) != "f32":
            return None
        return self._byte(bits.operands[0], _FLOAT8[kind])

    def centred(self, value: ir.Value) -> tuple[_Argument, DequantizedParameter | None] | None:
        """Return the integers and the zero point of a float; the latter None where not known."""
        floats = self.float8(value)
        if floats is not None:
            return floats, _NONE
        conversion = self.defining(value, *_CONVERSIONS)
        if conversion is None or str(value.type) != "f32":
            return None
        source = conversion.operands[0]
        direct = self._byte(source, _CONVERSIONS[conversion.name])
        if direct is not None:
            return direct, _NONE
        difference = self.defining(source, "arith.subi")
        integers = self._extended(source if difference is None else difference.operands[0])
        if integers is None:
            return None
        if difference is None:
            return integers, _NONE
        extended = self._extended(difference.operands[1])
        if extended is None:
            return integers, self.parameter(difference.operands[1], "int32")
        return integers, self.parameter(self.arguments[extended[0]], extended[1])

    def _extended(self, value: ir.Value) -> _Argument | None:
        extension = self.defining(value, *_EXTENSIONS)
        if extension is None or str(value.type) != "i32":
            return None
        return self._byte(extension.operands[0], _EXTENSIONS[extension.name])

    def _byte(self, value: ir.Value, dtype: str) -> _Argument | None:
        if value not in self.arguments or str(value.type) != "i8":
            return None
        return self.arguments.index(value), dtype

    def is_identity(self, argument: _Argument) -> bool:
        """Tell whether an argument is the element at the position of the result."""
        identity = ir.AffineMap.get_identity(self.maps[-1].n_dims)
        return bool(self.maps[argument[0]] == identity and self.maps[-1] == identity)

    def parameter(self, value: ir.Value, dtype: str) -> DequantizedParameter | None:
        """Return a scale or zero point that comes from outside of the body."""
        if value not in self.arguments:
            number = constant_attribute(value)
            if not isinstance(number, (ir.FloatAttr, ir.IntegerAttr)):
                return None
            return DequantizedParameter(number.value)
        position = self.arguments.index(value)
        operand, map_ = self.op.operands[position], self.maps[position]
        if not isinstance(operand.type, ir.RankedTensorType):
            return None
        attribute = constant_attribute(operand)
        if isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat:
            return DequantizedParameter(attribute.get_splat_value().value)
        tensor = Tensor(operand, dtype)
        # Blocks, which scales of some formats are for, are no dimensions.
        plain = all(
            extent == 1 or isinstance(expression, ir.AffineDimExpr)
            for expression, extent in zip(map_.results, tensor.shape, strict=True)
        )
        is_right = default_dtype(ir.RankedTensorType(operand.type).element_type).endswith(
            dtype.removeprefix("u")
        )
        return DequantizedParameter(read=(tensor, map_)) if plain and is_right else None
