# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random models of gathers, scatters, sorting, sums along an axis, and joins."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from verify.random_models.case import Case, Step
from verify.random_models.maker import CaseMaker, Value
from xyntra.dialects.dtypes import is_float

__all__ = ["generic"]

_SIZES = (1, 2, 3, 5, 7, 8, 9, 16, 17, 31, 33, 64, 100)
_LARGEST = 1 << 13
_DTYPES = (
    "float32",
    "float32",
    "float32",
    "float16",
    "bfloat16",
    "int32",
    "int64",
    "int8",
    "uint8",
)


def generic(seed: int) -> Case:
    """One or two such operators, and arithmetic around them."""
    m = CaseMaker("generic", seed)
    dtype = m.pick(*_DTYPES)
    x = m.leaf(dtype, _shape(m))
    name = m.pick(*_FORMS)
    outputs = _FORMS[name](m, x)
    y = outputs[0]
    if m.chance(0.4) and y.dtype != "bool" and prod(y.shape) <= _LARGEST:
        op = m.pick("Add", "Mul", "Max")
        outputs[0] = m.step(op, [y, m.leaf(y.dtype, y.shape)], y.shape)
        name += f" {op}"
    elif m.chance(0.2) and is_float(y.dtype):
        outputs[0] = m.step("Relu", [y], y.shape)
        name += " Relu"
    return m.finish(*outputs, label=f"{name} {dtype}{list(x.shape)}")


def _shape(m: CaseMaker) -> list[int]:
    sizes = [m.pick(*_SIZES) for _ in range(m.pick(1, 2, 2, 3, 3, 4))]
    while prod(sizes) > _LARGEST:
        sizes[sizes.index(max(sizes))] = m.pick(2, 3, 5)
    return sizes


def _axis(m: CaseMaker, x: Value) -> int:
    return m.random.randrange(len(x.shape))


def _indices(m: CaseMaker, shape: list[int], size: int) -> Value:
    return m.leaf("int64", shape, m.pick("input", "weight"), low=-size, high=size)


def _replaced(x: Value, axis: int, *sizes: int) -> list[int]:
    return [*x.shape[:axis], *sizes, *x.shape[axis + 1 :]]


def _gather(m: CaseMaker, x: Value) -> list[Value]:
    axis = _axis(m, x)
    counts = m.pick([], [1], [3], [17], [2, 5])
    at = _indices(m, counts, x.shape[axis])
    return [m.step("Gather", [x, at], _replaced(x, axis, *counts), axis=axis)]


def _gather_elements(m: CaseMaker, x: Value) -> list[Value]:
    axis = _axis(m, x)
    shape = [m.pick(n, n, max(n // 2, 1)) for n in x.shape]
    shape[axis] = m.pick(1, 3, 16, x.shape[axis])
    at = _indices(m, shape, x.shape[axis])
    return [m.step("GatherElements", [x, at], shape, axis=axis)]


def _scatter_elements(m: CaseMaker, x: Value) -> list[Value]:
    axis = _axis(m, x)
    shape = [m.pick(n, max(n // 2, 1)) for n in x.shape]
    at = _indices(m, shape, x.shape[axis])
    how = m.pick("none", "add", "max")
    operands = [x, at, m.leaf(x.dtype, shape)]
    return [m.step("ScatterElements", operands, x.shape, axis=axis, reduction=how)]


def _scatter_nd(m: CaseMaker, x: Value) -> list[Value]:
    depth = m.random.randint(1, len(x.shape))
    count = m.pick(1, 4, 9)
    size = min(x.shape[:depth])
    at = _indices(m, [count, depth], size)
    updates = m.leaf(x.dtype, [count, *x.shape[depth:]])
    how = m.pick("none", "add", "max")
    return [m.step("ScatterND", [x, at, updates], x.shape, reduction=how)]


def _concat(m: CaseMaker, x: Value) -> list[Value]:
    axis = _axis(m, x)
    parts = [x]
    for _ in range(m.random.randint(1, 4)):
        parts.append(m.leaf(x.dtype, _replaced(x, axis, m.pick(0, 1, 2, 5, 8, 17))))
    m.random.shuffle(parts)
    total = sum(part.shape[axis] for part in parts)
    return [m.step("Concat", parts, _replaced(x, axis, total), axis=axis)]


def _pad(m: CaseMaker, x: Value) -> list[Value]:
    mode = m.pick("constant", "constant", "edge", "reflect")
    most = [2 if mode != "reflect" else min(2, n - 1) for n in x.shape]
    widths = [m.random.randint(0, n) for n in most * 2]
    rank = len(x.shape)
    shape = [n + widths[d] + widths[d + rank] for d, n in enumerate(x.shape)]
    return [m.step("Pad", [x], shape, constants={"1": widths}, mode=mode)]


def _top_k(m: CaseMaker, x: Value) -> list[Value]:
    if x.dtype == "bfloat16":  # which ONNX's TopK lacks
        return _cum_sum(m, x)
    axis = _axis(m, x)
    count = m.random.randint(1, min(x.shape[axis], 8))
    shape = _replaced(x, axis, count)
    names = (f"v{len(m.steps)}", f"v{len(m.steps)}_at")
    attributes = {"axis": axis, "largest": m.pick(0, 1), "sorted": 1}
    m.steps.append(Step("TopK", (str(x),), names, attributes, {"1": [count]}))
    return [Value.of(names[0], x.dtype, shape), Value.of(names[1], "int64", shape)]


def _cum_sum(m: CaseMaker, x: Value) -> list[Value]:
    if x.dtype in ("int8", "uint8"):  # which ONNX's CumSum lacks
        return _tile(m, x)
    modes = {"exclusive": m.pick(0, 1), "reverse": m.pick(0, 1)}
    return [m.step("CumSum", [x], x.shape, constants={"1": [_axis(m, x)]}, **modes)]


def _arg_max(m: CaseMaker, x: Value) -> list[Value]:
    axis = _axis(m, x)
    return [m.step("ArgMax", [x], _replaced(x, axis), "int64", axis=axis, keepdims=0)]


def _tile(m: CaseMaker, x: Value) -> list[Value]:
    times = [m.pick(1, 1, 2, 3) for _ in x.shape]
    shape = [n * k for n, k in zip(x.shape, times, strict=True)]
    return [m.step("Tile", [x], shape, constants={"1": times})]


def _sliced(m: CaseMaker, x: Value) -> list[Value]:
    """Every second element, backwards, then a gather of these."""
    axis = _axis(m, x)
    size = x.shape[axis]
    limits = {"1": [size - 1], "2": [-size - 1], "3": [axis], "4": [-2]}
    y = m.step("Slice", [x], _replaced(x, axis, -(-size // 2)), constants=limits)
    return _gather(m, y)


def _reduced(m: CaseMaker, x: Value) -> list[Value]:
    """Reductions of integers, and of floats along leading dimensions."""
    axes = sorted(m.random.sample(range(len(x.shape)), m.random.randint(1, len(x.shape))))
    shape = [1 if d in axes else n for d, n in enumerate(x.shape)]
    kinds = ["ReduceMax", "ReduceMin"]
    if is_float(x.dtype) or x.dtype in ("int32", "int64"):
        kinds.append("ReduceSum")
    return [m.step(m.pick(*kinds), [x], shape, constants={"1": axes}, keepdims=1)]


_FORMS: dict[str, Callable[[CaseMaker, Value], list[Value]]] = {
    "gather": _gather,
    "gather elements": _gather_elements,
    "scatter elements": _scatter_elements,
    "scatter": _scatter_nd,
    "concat": _concat,
    "pad": _pad,
    "top k": _top_k,
    "cumulated": _cum_sum,
    "arg max": _arg_max,
    "tile": _tile,
    "sliced": _sliced,
    "reduced": _reduced,
}
