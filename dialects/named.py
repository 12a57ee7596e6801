# SPDX-License-Identifier: MIT OR Apache-2.0
"""Creates the named ops of the dialect through a `TensorBuilder`."""

from __future__ import annotations

from torch_mlir import ir

from xyntra.dialects.builder import Tensor, TensorBuilder

__all__ = ["gelu", "layer_norm", "log_softmax", "rms_norm", "silu", "softmax"]


def softmax(b: TensorBuilder, x: Tensor, axis: int) -> Tensor:
    """`xyntra.softmax` of floats along `axis`, which is not negative."""
    return _named(b, "softmax", [x], {"axis": _axis(b, axis)})


def log_softmax(b: TensorBuilder, x: Tensor, axis: int) -> Tensor:
    """`xyntra.log_softmax` of floats along `axis`, which is not negative."""
    return _named(b, "log_softmax", [x], {"axis": _axis(b, axis)})


def layer_norm(
    b: TensorBuilder,
    x: Tensor,
    axis: int,
    epsilon: float,
    scale: Tensor | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """`xyntra.layer_norm` of dimensions `axis` to the last; scale and bias as `x` in dtype."""
    attributes = {"axis": _axis(b, axis), "epsilon": _epsilon(b, epsilon)}
    return _named(b, "layer_norm", [x, scale, bias], attributes, segments=True)


def rms_norm(
    b: TensorBuilder, x: Tensor, axis: int, epsilon: float, scale: Tensor | None = None
) -> Tensor:
    """`xyntra.rms_norm` of dimensions `axis` to the last; scale has the dtype of `x`."""
    attributes = {"axis": _axis(b, axis), "epsilon": _epsilon(b, epsilon)}
    return _named(b, "rms_norm", [x, scale], attributes, segments=True)


def gelu(b: TensorBuilder, x: Tensor, approximate: str = "none") -> Tensor:
    """`xyntra.gelu` of floats; `approximate` is "none" or "tanh"."""
    return _named(b, "gelu", [x], {"approximate": ir.StringAttr.get(approximate, b.context)})


def silu(b: TensorBuilder, x: Tensor) -> Tensor:
    """`xyntra.silu` of floats."""
    return _named(b, "silu", [x], {})


def _axis(b: TensorBuilder, axis: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64, b.context), axis)


def _epsilon(b: TensorBuilder, epsilon: float) -> ir.Attribute:
    return ir.FloatAttr.get(ir.F32Type.get(b.context), epsilon, loc=b.location)


def _named(
    b: TensorBuilder,
    name: str,
    operands: list[Tensor | None],
    attributes: dict[str, ir.Attribute],
    *,
    segments: bool = False,
) -> Tensor:
    given = [operand for operand in operands if operand is not None]
    if segments:
        sizes = [int(operand is not None) for operand in operands]
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(sizes, b.context)
    values, result = [tensor.value for tensor in given], given[0].value.type
    op = b.emit(f"xyntra.{name}", values, [result], attributes)
    return Tensor(op.results[0], given[0].dtype)
