# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators in numpy, on wide arrays: elementwise, reductions, products, norms and moves of data.

Written from the ONNX specification alone. Operators that are not here come from onnx's reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from verify.random_graphs.dtypes import DTYPES, elem_of, is_float, largest, native, wide

__all__ = ["KERNELS", "Call", "Kernel", "attribute", "kernel", "result_type"]

Arrays = Sequence["np.ndarray | None"]


@dataclass(frozen=True)
class Call:
    """One node with the arrays it gets.

    Attributes:
        op_type: the operator.
        attributes: by name, as Python values; tensors are native arrays.
        version: of the operator set.
        inputs: wide arrays, None where left out.
        elems: their types in the model.
        outputs: how many the node names.
        random: disturbs values inside an operator, where given.
        accuracy: what it computes in, as the distance from 1 to the next number.
    """

    op_type: str
    attributes: Mapping[str, Any]
    version: int
    inputs: Arrays
    elems: Sequence[int | None]
    outputs: int
    random: np.random.Generator | None = None
    accuracy: float = 0.0

    def rough(self, size: Any, least: float = 0.0) -> Any:
        """An error to add to something of that magnitude inside an operator; 0 without noise.

        Args:
            size: the magnitudes.
            least: the accuracy, where it may be no better in whatever type.
        """
        if self.random is None:
            return np.zeros(np.shape(size))
        accuracy = max(self.accuracy, least)
        return size * self.random.uniform(-2, 2, np.shape(size)) * accuracy

    def underflow(self, sums: Any, count: int) -> Any:
        """Sums of `count` powers, each off by what underflow may cost it; unchanged without noise.

        Squares of numbers below 2^-63 are subnormal in f32, or 0, whatever the root of their sum.
        """
        if self.random is None:
            return sums
        least = 2.0**-1074 if self.accuracy < 2.0**-30 else 2.0**-149
        error = self.random.uniform(-1, 1, np.shape(sums)) * count * least
        return np.maximum(sums + error, 0)

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        return self.attributes.get(name, default)

    def has(self, position: int) -> bool:
        """Whether an input is given."""
        return position < len(self.inputs) and self.inputs[position] is not None

    def input(self, position: int, default: Any = None) -> Any:
        """An input, or `default` where it is left out."""
        return self.inputs[position] if self.has(position) else default

    def integers(self, name: str, position: int) -> list[int] | None:
        """A list that is an attribute in old operator sets and an input in new ones."""
        if name in self.attributes:
            return [int(each) for each in self.attributes[name]]
        if self.has(position):
            return [int(each) for each in np.ravel(self.inputs[position])]
        return None


Kernel = Callable[[Call], Any]
KERNELS: dict[str, Kernel] = {}


def kernel(*names: str) -> Callable[[Kernel], Kernel]:
    """Register the decorated function for operators `names`."""

    def register(function: Kernel) -> Kernel:
        KERNELS.update(dict.fromkeys(names, function))
        return function

    return register


def attribute(proto: onnx.AttributeProto) -> Any:
    """An attribute as a Python value."""
    value = onnx.helper.get_attribute_value(proto)
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, bytes):
        return value.decode()
    return value


def result_type(
    name: str, attributes: Mapping[str, Any], elems: Sequence[int | None], outputs: Arrays
) -> int | None:
    """The type of the first result where the schema alone does not say it."""
    if name in ("Cast", "BitCast"):
        return int(attributes["to"])
    if name == "CastLike":
        return elems[1]
    if name == "EyeLike":
        return int(attributes.get("dtype", elems[0]))
    if name in ("ConstantOfShape", "Constant"):
        if "value" in attributes:
            return elem_of(attributes["value"].dtype)
        if name == "ConstantOfShape":
            return TensorProto.FLOAT
        kind = next(iter(attributes))
        return TensorProto.FLOAT if "float" in kind else TensorProto.INT64
    if name == "QuantizeLinear":
        if len(elems) > 2 and elems[2] is not None:
            return elems[2]
        return int(attributes.get("output_dtype", 0)) or TensorProto.UINT8
    if name == "DequantizeLinear":
        return int(attributes.get("output_dtype", 0)) or elems[1]
    if name == "QLinearConv":
        return elems[7]
    if name == "QLinearMatMul":
        return elems[7]
    return None


def _unary(table: Mapping[str, Callable[[np.ndarray], np.ndarray]]) -> None:
    for name, function in table.items():
        kernel(name)(lambda call, f=function: f(call.inputs[0]))


def _erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf, otypes=[np.float64])(x) if x.size else x


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return (
        np.where(
            x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x)))
        )
        + x * 0
    )


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _keep_infinite_sigmoid(x: np.ndarray) -> np.ndarray:
    result = _sigmoid(np.where(np.isinf(x), 0, x))
    return np.where(np.isinf(x), (x > 0).astype(np.float64), result)


_unary(
    {
        "Abs": np.abs,
        "Neg": np.negative,
        "Acos": np.arccos,
        "Acosh": np.arccosh,
        "Asin": np.arcsin,
        "Asinh": np.arcsinh,
        "Atan": np.arctan,
        "Atanh": np.arctanh,
        "Ceil": np.ceil,
        "Floor": np.floor,
        "Cos": np.cos,
        "Cosh": np.cosh,
        "Sin": np.sin,
        "Sinh": np.sinh,
        "Tan": np.tan,
        "Tanh": np.tanh,
        "Exp": np.exp,
        "Log": np.log,
        "Sqrt": np.sqrt,
        "Reciprocal": lambda x: 1 / x,
        "Round": np.rint,
        "Sign": np.sign,
        "Not": np.logical_not,
        "BitwiseNot": np.invert,
        "Identity": lambda x: x,
        "Erf": _erf,
        "Relu": lambda x: np.maximum(x, np.zeros((), x.dtype)),
        "Sigmoid": _keep_infinite_sigmoid,
        "Softplus": _softplus,
        "Softsign": lambda x: x / (1 + np.abs(x)),
        "Mish": lambda x: x * np.tanh(_softplus(x)),
        "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
        "IsNaN": np.isnan,
    }
)


@kernel("Gelu")
def gelu(call: Call) -> np.ndarray:
    x = call.inputs[0]
    if call.get("approximate", "none") == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + _erf(x / math.sqrt(2)))


def _activations() -> None:
    def elu(call: Call) -> np.ndarray:
        x, a = call.inputs[0], call.get("alpha", 1.0)
        return np.where(x > 0, x, a * np.expm1(np.minimum(x, 0)))

    def celu(call: Call) -> np.ndarray:
        x, a = call.inputs[0], call.get("alpha", 1.0)
        return np.maximum(x, 0) + np.minimum(0, a * np.expm1(x / a))

    def selu(call: Call) -> np.ndarray:
        x = call.inputs[0]
        a = call.get("alpha", np.float64(np.float32(1.67326319217681884765625)))
        g = call.get("gamma", np.float64(np.float32(1.05070102214813232421875)))
        return g * np.where(x > 0, x, a * np.expm1(np.minimum(x, 0)))

    def leaky(call: Call) -> np.ndarray:
        x = call.inputs[0]
        return np.where(x < 0, x * call.get("alpha", np.float64(np.float32(0.01))), x)

    def thresholded(call: Call) -> np.ndarray:
        x = call.inputs[0]
        return np.where(x > call.get("alpha", 1.0), x, 0)  # 0 of NaN, as ONNX's function has it

    def hard_sigmoid(call: Call) -> np.ndarray:
        alpha = call.get("alpha", np.float64(np.float32(0.2)))
        return np.clip(call.inputs[0] * alpha + call.get("beta", 0.5), 0, 1)

    def shrink(call: Call) -> np.ndarray:
        x, bias, bound = call.inputs[0], call.get("bias", 0.0), call.get("lambd", 0.5)
        # Neither comparison holds for NaN, which is 0 then, as the operator is defined.
        return np.where(x < -bound, x + bias, np.where(x > bound, x - bias, 0))

    def swish(call: Call) -> np.ndarray:
        x = call.inputs[0]
        return x * _keep_infinite_sigmoid(x * call.get("alpha", 1.0))

    found = (elu, celu, selu, leaky, thresholded, hard_sigmoid, shrink, swish)
    names = "Elu Celu Selu LeakyRelu ThresholdedRelu HardSigmoid Shrink Swish".split()
    KERNELS.update(zip(names, found, strict=True))


_activations()


@kernel("PRelu")
def prelu(call: Call) -> np.ndarray:
    x, slope = call.inputs
    return np.where(x < 0, x * slope, x)


def _binary(table: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]) -> None:
    for name, function in table.items():
        kernel(name)(lambda call, f=function: f(call.inputs[0], call.inputs[1]))


def _divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind == "f":
        return a / b
    quotient = np.floor_divide(a, b)
    remainder = a - quotient * b
    # Towards zero; a division by zero gives 0.
    return np.where(b == 0, 0, quotient + ((remainder != 0) & ((a < 0) != (b < 0)))).astype(a.dtype)


def _power(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind == "f":
        return np.power(a, b.astype(np.float64))
    return (
        np.power(a.astype(np.float64), b.astype(np.float64))
        if b.dtype.kind == "f"
        else np.power(a, b.astype(a.dtype))
    )


_binary(
    {
        "Add": np.add,
        "Sub": np.subtract,
        "Mul": np.multiply,
        "Div": _divide,
        "And": np.logical_and,
        "Or": np.logical_or,
        "Xor": np.logical_xor,
        "Equal": np.equal,
        "Greater": np.greater,
        "GreaterOrEqual": np.greater_equal,
        "Less": np.less,
        "LessOrEqual": np.less_equal,
        "BitwiseAnd": np.bitwise_and,
        "BitwiseOr": np.bitwise_or,
        "BitwiseXor": np.bitwise_xor,
    }
)


@kernel("Pow")
def power(call: Call) -> np.ndarray:
    a, b = call.inputs
    result = _power(a, b)
    if a.dtype.kind != "f" and result.dtype.kind == "f":
        return _to_integers(result, call.elems[0])
    return result


@kernel("Mod")
def modulo(call: Call) -> np.ndarray:
    a, b = call.inputs
    if call.get("fmod", 0):
        return np.fmod(a, b)
    return np.where(b == 0, 0, np.mod(a, np.where(b == 0, 1, b))).astype(a.dtype)


@kernel("BitShift")
def bit_shift(call: Call) -> np.ndarray:
    a, b = call.inputs
    return np.left_shift(a, b) if call.get("direction") == "LEFT" else np.right_shift(a, b)


def _fold(function: Callable[[np.ndarray, np.ndarray], np.ndarray], mean: bool = False) -> Kernel:
    def run(call: Call) -> np.ndarray:
        result = call.inputs[0]
        for each in call.inputs[1:]:
            result = function(result, each)
        return result / len(call.inputs) if mean else result

    return run


KERNELS["Max"], KERNELS["Min"] = _fold(np.maximum), _fold(np.minimum)
KERNELS["Sum"], KERNELS["Mean"] = _fold(np.add), _fold(np.add, mean=True)


@kernel("Where")
def where(call: Call) -> np.ndarray:
    return np.where(*call.inputs)


@kernel("Clip")
def clip(call: Call) -> np.ndarray:
    x = call.inputs[0]
    low = call.get("min", None) if call.version < 11 else call.input(1)
    high = call.get("max", None) if call.version < 11 else call.input(2)
    if is_float(call.elems[0]):
        # By default, the bounds are the least and the largest finite number.
        most = largest(call.elems[0])
        low, high = (-most if low is None else low), (most if high is None else high)
    if low is not None:
        x = np.where(x < low, low, x)
    if high is not None:
        x = np.where(x > high, high, x)
    return x


@kernel("IsInf")
def is_inf(call: Call) -> np.ndarray:
    x = call.inputs[0]
    up, down = call.get("detect_positive", 1), call.get("detect_negative", 1)
    return ((x == np.inf) & bool(up)) | ((x == -np.inf) & bool(down))


def _to_integers(x: np.ndarray, elem: int) -> np.ndarray:
    """Floats as integers of a type: towards zero, and out of range as docs/numerics.md says."""
    dtype = DTYPES[elem]
    width = np.int64 if dtype.itemsize == 8 or elem == TensorProto.UINT32 else np.int32
    whole = np.trunc(np.where(np.isfinite(x), x, 0))
    inside = (
        np.isfinite(x)
        & (whole >= float(np.iinfo(width).min))
        & (whole < 2.0 ** (8 * np.dtype(width).itemsize - 1))
    )
    lowest = np.iinfo(width).min
    result = np.where(inside, np.where(inside, whole, 0).astype(width), lowest).astype(dtype)
    if elem == TensorProto.UINT64:
        large = np.isfinite(x) & (whole >= 2.0**63) & (whole < 2.0**64)
        result = np.where(large, np.where(large, whole, 0).astype(np.uint64), result)
        # x86 has no such conversion; compilers subtract 2^63 first and add it again, modulo 2^64.
        result = np.where(x >= 2.0**64, np.uint64(0), result)
    return result


def cast(x: np.ndarray, source: int, target: int) -> np.ndarray:
    """What ONNX's Cast does, on wide arrays."""
    if target == TensorProto.BOOL:
        return x != 0
    if is_float(target):
        return x.astype(np.float64)
    return _to_integers(x, target) if is_float(source) else x.astype(DTYPES[target])


@kernel("Cast", "CastLike")
def cast_node(call: Call) -> np.ndarray:
    target = call.elems[1] if len(call.inputs) > 1 else int(call.get("to"))
    return cast(call.inputs[0], call.elems[0], target)


@kernel("BitCast")
def bit_cast(call: Call) -> np.ndarray:
    return wide(native(call.inputs[0], call.elems[0]).view(DTYPES[int(call.get("to"))]))
