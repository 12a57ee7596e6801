# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random models of softmax, norms, reductions and what stands around them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from verify.random_models.case import Case
from verify.random_models.maker import FLOATS, CaseMaker, Value

__all__ = ["row"]

_LENGTHS = (1, 2, 3, 5, 7, 8, 16, 31, 32, 33, 63, 64, 65, 96, 100, 127, 128, 129, 255, 257, 512,
            768, 1000, 1023, 1024, 1025, 2000, 2048, 2049, 3000, 4096, 4097, 5000, 8192, 8193,
            10000, 16384, 20001, 32768, 40000, 65536, 65537, 70001, 131072)  # fmt: skip
_LARGEST = 1 << 17


def row(seed: int) -> Case:
    """One row operation on rows of 1 to 131072 elements, with arithmetic before and behind."""
    m = CaseMaker("row", seed)
    dtype = m.pick(*FLOATS)
    length = m.pick(*_LENGTHS)
    rows = [n for n in (1, 2, 3, 5, 8, 17, 33, 64, 100, 257) if n * length <= _LARGEST]
    shape = [m.pick(*rows), length]
    if m.chance(0.25):
        shape.insert(0, m.pick(1, 2, 3))
    if m.chance(0.03):
        shape[0] = 0
    x = m.leaf(dtype, shape, scale=m.pick(1.0, 1.0, 3.0))
    name = m.pick(*_FORMS)
    outputs = _FORMS[name](m, _before(m, x))
    outputs[0] = _behind(m, outputs[0])
    return m.finish(*outputs, label=f"{name} {dtype}{shape}")


def _before(m: CaseMaker, x: Value) -> Value:
    choice = m.random.random()
    if choice < 0.15:
        return m.step("Add", [x, m.leaf(x.dtype, x.shape)], x.shape)
    if choice < 0.3:
        return m.step("Mul", [x, m.leaf(x.dtype, x.shape[-1:], "weight")], x.shape)
    if choice < 0.4 and len(x.shape) == 2:
        turned = m.leaf(x.dtype, x.shape[::-1])
        return m.step("Transpose", [turned], x.shape, perm=[1, 0])
    return x


def _behind(m: CaseMaker, y: Value) -> Value:
    choice = m.random.random()
    if y.dtype == "int64" or choice > 0.4:
        return y
    if choice < 0.15:
        return m.step(m.pick("Relu", "Tanh", "Gelu"), [y], y.shape)
    if choice < 0.25:
        return m.step("Add", [y, m.leaf(y.dtype, y.shape)], y.shape)
    dtype = m.pick(*(d for d in ("float32", "float16", "bfloat16") if d != y.dtype))
    return m.step("Cast", [y], y.shape, dtype, dtype=dtype)


def _softmax(m: CaseMaker, x: Value) -> list[Value]:
    axis = -1 if m.chance(0.8) else m.random.randrange(len(x.shape))
    return [m.step(m.pick("Softmax", "Softmax", "LogSoftmax"), [x], x.shape, axis=axis)]


def _written_softmax(m: CaseMaker, x: Value) -> list[Value]:
    narrow, axis = [*x.shape[:-1], 1], {"1": [len(x.shape) - 1]}
    top = m.step("ReduceMax", [x], narrow, constants=axis, keepdims=1)
    powers = m.step("Exp", [m.step("Sub", [x, top], x.shape)], x.shape)
    total = m.step("ReduceSum", [powers], narrow, constants=axis, keepdims=1)
    return [m.step("Div", [powers, total], x.shape)]


def _layer_norm(m: CaseMaker, x: Value) -> list[Value]:
    columns = [m.leaf(x.dtype, x.shape[-1:], "weight") for _ in range(m.pick(1, 2, 2))]
    epsilon = m.pick(2.0**-17, 2.0**-10)
    return [m.step("LayerNormalization", [x, *columns], x.shape, axis=-1, epsilon=epsilon)]


def _rms_norm(m: CaseMaker, x: Value) -> list[Value]:
    weight = m.leaf(x.dtype, x.shape[-1:], "weight")
    y = m.step("RMSNormalization", [x, weight], x.shape, axis=-1, epsilon=2.0**-17)
    return [y, x] if x.startswith("v") and m.chance(0.5) else [y]


def _reduction(m: CaseMaker, x: Value) -> list[Value]:
    axes = [len(x.shape) - 1]
    if m.chance(0.35):
        count = m.random.randint(1, len(x.shape))
        axes = sorted(m.random.sample(range(len(x.shape)), count))
    keep = m.pick(0, 1)
    shape = [1 if d in axes else n for d, n in enumerate(x.shape)]
    if not keep:
        shape = [n for d, n in enumerate(x.shape) if d not in axes]
    empty = prod(x.shape[d] for d in axes) == 0
    op = "ReduceSum" if empty else m.pick("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin")
    return [m.step(op, [x], shape, constants={"1": axes}, keepdims=keep)]


def _centred(m: CaseMaker, x: Value) -> list[Value]:
    narrow, axis = [*x.shape[:-1], 1], {"1": [len(x.shape) - 1]}
    middle = m.step("ReduceMean", [x], narrow, constants=axis, keepdims=1)
    y = m.step("Sub", [x, middle], x.shape)
    spread = m.step(
        "ReduceMean", [m.step("Mul", [y, y], x.shape)], narrow, constants=axis, keepdims=1
    )
    return [y, m.step("Add", [spread, m.leaf(x.dtype, [1], "weight")], narrow)]


def _arg_max(m: CaseMaker, x: Value) -> list[Value]:
    axis = len(x.shape) - 1
    if not x.startswith("i"):
        x = m.leaf(x.dtype, x.shape)
    return [m.step("ArgMax", [x], x.shape[:-1], "int64", axis=axis, keepdims=0)]


def _normed_twice(m: CaseMaker, x: Value) -> list[Value]:
    """A softmax of a norm: several exchanges within one row."""
    y = _layer_norm(m, x)[0]
    return _softmax(m, m.step("Tanh", [y], y.shape))


_FORMS: dict[str, Callable[[CaseMaker, Value], list[Value]]] = {
    "softmax": _softmax,
    "written softmax": _written_softmax,
    "layer norm": _layer_norm,
    "rms norm": _rms_norm,
    "reduction": _reduction,
    "centred": _centred,
    "arg max": _arg_max,
    "norm and softmax": _normed_twice,
}
