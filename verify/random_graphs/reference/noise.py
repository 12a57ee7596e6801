# SPDX-License-Identifier: MIT OR Apache-2.0
"""Disturbances that model the roundings which an implementation is free to make.

Operators that move, compare or select are exact. All others have their inputs moved by a unit in
the last place of the type they compute in (roundings inside sums, which cancellation amplifies)
and their results by a few units of the type that they are stored in.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto

from verify.random_graphs.dtypes import is_float, largest, smallest_normal, smallest_subnormal, unit

__all__ = [
    "SUMS",
    "accuracy",
    "disturbed_inputs",
    "disturbed_result",
    "is_exact",
    "may_overflow",
    "sum_error",
]

_EXACT = frozenset(
    """Abs And ArgMax ArgMin BitCast Cast CastLike Ceil Clip Compress Concat Constant
    ConstantOfShape DepthToSpace Dropout Equal Expand EyeLike Flatten Floor Gather GatherElements
    GatherND
    GlobalMaxPool Greater GreaterOrEqual Hardmax Identity IsInf IsNaN Less LessOrEqual Max MaxPool
    MaxUnpool Min Neg Not OneHot Or Pad ReduceMax ReduceMin Relu Reshape ReverseSequence Round
    Range Scatter ScatterElements ScatterND Shape Sign Size Slice SpaceToDepth Split Squeeze Tile
    TopK TensorScatter Transpose Trilu Unsqueeze Where Xor""".split()
)
_ARITHMETIC = frozenset(["Add", "Sub", "Mul", "Div"])
_BASIC = _ARITHMETIC | {"Sum", "Mean", "ReduceSum", "ReduceMean"}
SUMS = frozenset(
    """Conv ConvTranspose CumSum Einsum Gemm GlobalAveragePool MatMul Mean ReduceMean ReduceSum
    ReduceSumSquare Sum AveragePool""".split()
)
"""Operators that, on absolute values, give the magnitude of what their results are sums of."""
_MOST = 2.0**60, 2.0**500
"""Magnitudes in f32 and f64 of which squares, sums and products inside an operator may overflow."""
_ABSOLUTE = frozenset(
    """FusedGemm Gelu FastGelu BiasGelu QuickGelu Mish Swish Softplus Elu Selu Celu Tan Acosh
    Atanh""".split()
)
_POINTWISE = frozenset(
    """Acos Acosh Asin Asinh Atan Atanh Cosh Elu Erf Exp Gelu HardSigmoid HardSwish LeakyRelu Log
    Mish PRelu Reciprocal Selu Celu Shrink Sigmoid Sinh Softplus Softsign Sqrt Swish Tanh
    ThresholdedRelu""".split()
)
_TWO_STEPS = frozenset(["InstanceNormalization", "GroupNormalization"])
_WINDOWS = frozenset(["Conv", "ConvTranspose", "FusedConv"])
_ULPS = 3.0


def is_exact(node: onnx.NodeProto, has_floats: bool) -> bool:
    """Whether every implementation of a node gives the same bits for the same inputs."""
    if node.domain:
        return False
    if node.op_type in ("ScatterElements", "ScatterND", "Scatter"):
        return not any(each.name == "reduction" and each.s != b"none" for each in node.attribute)
    return node.op_type in _EXACT or not (has_floats or node.op_type == "DequantizeLinear")


def accuracy(elem: int) -> float:
    """What sums are computed in: the distance from 1 to the next number."""
    return 2.0**-52 if elem == TensorProto.DOUBLE else 2.0**-23


def sum_error(size: np.ndarray, terms: float, exactness: float) -> np.ndarray:
    """How far sums in any order of about `terms` terms may be off, for the sum of magnitudes.

    The worst is n u; independent roundings make about u sqrt(n) / 4 of it. Terms that repeat are
    rounded alike, which doubles that.
    """
    return exactness / 2 * max(1.0, float(np.sqrt(terms)) / 2) * size


def disturbed_inputs(
    node: onnx.NodeProto,
    arrays: Sequence[np.ndarray | None],
    elems: Sequence[int | None],
    random: np.random.Generator,
) -> list[np.ndarray | None]:
    """Inputs of a node, floats moved by a unit in the last place."""
    result: list[np.ndarray | None] = []
    for position, (array, elem) in enumerate(zip(arrays, elems, strict=True)):
        shapes = node.op_type in ("Resize", "Upsample") and position
        if array is None or elem is None or not is_float(elem) or shapes:
            result.append(array)
            continue
        # onnx's reference of GridSample computes places in f32, whatever the type.
        exactness = 2.0**-22 if node.op_type == "GridSample" else accuracy(elem)
        step = exactness * np.abs(array)
        if node.op_type == "GridSample" and position == 1:
            # A place is (g + 1) / 2 (n - 1), say: its error is that of the 1 where g is small.
            step = exactness * np.maximum(np.abs(array), 1)
        if node.op_type == "Attention" and position in (2, 5):
            # Probabilities are rounded to the type of the values before they are multiplied.
            step = np.maximum(exactness, unit(elem) / 2) * np.abs(array)
        if node.op_type in _WINDOWS and array.size:
            # Winograd's transforms mix neighbouring pixels.
            finite = np.abs(array[np.isfinite(array)])
            step = step + 4 * accuracy(elem) * (finite.max() if finite.size else 0.0)
        if node.op_type == "Attention" and position == 0:
            # onnx's function takes the root of the scale, which is an attribute, in f32.
            array = array * (1 + random.uniform(-1, 1) * 2.0**-23)
        result.append(array + step * random.uniform(-1, 1, array.shape))
    return result


def disturbed_result(
    node: onnx.NodeProto,
    array: np.ndarray,
    elem: int,
    arrays: Sequence[np.ndarray | None],
    random: np.random.Generator,
) -> np.ndarray:
    """A result of a node, moved by a few units in the last place."""
    terms = max([each.size for each in arrays if each is not None], default=1) / max(array.size, 1)
    ulps = 1.0
    if node.op_type not in _BASIC | SUMS:
        wide = elem in (TensorProto.FLOAT, TensorProto.DOUBLE)
        ulps = _ULPS + np.sqrt(max(terms, 1.0)) / 4 * wide
    floor = smallest_subnormal(elem) if node.op_type in _BASIC else smallest_normal(elem) * 2**-3
    if elem == TensorProto.FLOAT16:
        floor = smallest_subnormal(elem)
    step = unit(elem) / 2 * ulps * np.abs(array) + floor
    if node.op_type in _ABSOLUTE and (node.domain or arrays[0].shape == array.shape):
        # 1 + erf(x) and the like cancel; what is left of the error is that of the 1.
        factor = np.maximum(np.abs(np.where(np.isfinite(arrays[0]), arrays[0], 0)), 1)
        factor = factor if factor.shape == array.shape else 1
        step = step + 2 * accuracy(elem) * factor
    if node.op_type in _TWO_STEPS and arrays[1].size:
        # onnx's functions round the normalised values before they are scaled.
        step = step + 4 * unit(elem) * np.max(np.abs(arrays[1]))
    if node.op_type not in _ARITHMETIC | _POINTWISE and may_overflow(elem, arrays):
        # Anything may come of it: infinities cancel, or divide what they should not.
        anything = random.choice([np.nan, largest(elem), 1.0])
        return anything * random.uniform(-1, 1, array.shape)
    return array + np.where(np.isfinite(array), step, 0) * random.uniform(-1, 1, array.shape)


def may_overflow(elem: int, arrays: Sequence[np.ndarray | None]) -> bool:
    """Whether an input is so large that what an operator computes of it may be infinite."""
    most = _MOST[elem == TensorProto.DOUBLE]
    return any(
        bool((np.isfinite(each) & (np.abs(each) > most)).any())
        for each in arrays
        if each is not None and each.dtype.kind == "f"
    )
