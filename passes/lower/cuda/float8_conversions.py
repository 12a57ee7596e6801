# SPDX-License-Identifier: MIT OR Apache-2.0
"""Converts floats of 8 bits by the GPU's instructions, two elements at a time."""

from __future__ import annotations

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.narrow import FLOAT8_LARGEST, encoded
from xyntra.dialects.scalar import Scalar, emit
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.analysis.owners import constant_attribute, owner_of
from xyntra.passes.lower.cuda.ptx.assembly import i32, integer
from xyntra.passes.lower.cuda.ptx.numbers import cvt_from_float8, cvt_to_float8
from xyntra.passes.lower.gpu.contraction.row_partials import elements_of
from xyntra.passes.lower.scalar.expand_float8 import DTYPES, bits_of, replace_bits

__all__ = ["convert_float8"]

_ELEMENTS = {"float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"}
_HALF = 16  # bits


def convert_float8(module: ir.Operation) -> None:
    """Let instructions convert scalars and vectors, in the code of threads.

    The instruction limits what is too large, so that bounds before it are left out. Without such
    bounds, where it is to become NaN or infinity, and from f64, it takes operations on bits.
    """
    for op in operations_named(module, "arith.extf", "arith.truncf"):
        kinds = [str(_element(value.type)) for value in (op.operands[0], op.result)]
        with op.context, op.location, ir.InsertionPoint(op):
            if op.name == "arith.extf" and kinds[0] in DTYPES:
                op.result.replace_all_uses_with(_widened(op, DTYPES[kinds[0]]))
                op.erase()
            elif op.name == "arith.truncf" and kinds[1] in DTYPES:
                replace_bits(op, _narrowed(op.operands[0], DTYPES[kinds[1]]))


def _element(kind: ir.Type) -> ir.Type:
    return ir.VectorType(kind).element_type if isinstance(kind, ir.VectorType) else kind


def _lanes(value: ir.Value) -> list[ir.Value]:
    return elements_of(value) if isinstance(value.type, ir.VectorType) else [value]


def _whole(lanes: list[ir.Value], like: ir.Type) -> ir.Value:
    """Return a scalar, or the lanes of a vector, as one value; `like` is a type of that shape."""
    if not isinstance(like, ir.VectorType):
        return lanes[0]
    kind = ir.VectorType.get(ir.VectorType(like).shape, lanes[0].type)
    return emit("vector.from_elements", lanes, kind)


def _widened(op: ir.Operation, dtype: str) -> ir.Value:
    """Return the floats that bytes stand for; all are numbers of f16."""
    target, found = _element(op.result.type), []
    for pair in _pairs([arith.extui(integer(_HALF), each) for each in _lanes(bits_of(op))]):
        word = pair[0]
        if len(pair) > 1:
            eight = _constant(_HALF, 8)
            word = arith.ori(word, arith.shli(pair[1], eight))
        both = cvt_from_float8(word, _ELEMENTS[dtype])
        for place in range(len(pair)):
            half = arith.shrui(both, i32(_HALF)) if place else both
            number = arith.bitcast(ir.F16Type.get(), arith.trunci(integer(_HALF), half))
            found.append(number if str(target) == "f16" else arith.extf(target, number))
    return _whole(found, op.result.type)


def _narrowed(value: ir.Value, dtype: str) -> ir.Value:
    """Return the bytes of floats."""
    kind = str(_element(value.type))
    inside = None if kind == "f64" else _clamped(value, FLOAT8_LARGEST[dtype])
    if inside is None:
        names = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
        wide = "float64" if kind == "f64" else "float32"
        lanes = [Scalar(each, names[kind]).cast(wide) for each in _lanes(value)]
        return _whole([encoded(each, dtype, saturate=False).value for each in lanes], value.type)
    f32, byte = ir.F32Type.get(), integer(8)
    singles = [each if kind == "f32" else arith.extf(f32, each) for each in _lanes(inside)]
    found = []
    for pair in _pairs(singles):
        word = cvt_to_float8(pair[0], pair[-1], _ELEMENTS[dtype])
        found.append(arith.trunci(byte, word))
        if len(pair) > 1:
            found.append(arith.trunci(byte, arith.shrui(word, _constant(_HALF, 8))))
    return _whole(found, value.type)


def _clamped(value: ir.Value, limit: float) -> ir.Value | None:
    """Return what `value` is between -limit and limit; None where it has other bounds."""
    for name, bound in (("arith.minimumf", limit), ("arith.maximumf", -limit)):
        op = owner_of(value, name)
        if op is None or _splat(op.operands[1]) != bound:
            return None
        value = op.operands[0]
    return value


def _splat(value: ir.Value) -> float | None:
    """Return the number that a value, or each of its lanes, always is."""
    spread = owner_of(value, "vector.broadcast")
    attribute = constant_attribute(value if spread is None else spread.operands[0])
    if isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat:
        attribute = attribute.get_splat_value()
    return float(attribute.value) if isinstance(attribute, ir.FloatAttr) else None


def _pairs(values: list[ir.Value]) -> list[list[ir.Value]]:
    return [values[start : start + 2] for start in range(0, len(values), 2)]


def _constant(bits: int, number: int) -> ir.Value:
    kind = integer(bits)
    return emit("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, number))
