# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makers of operators that move data, reduce it, or compute with shapes."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from verify.random_graphs.models.builder import Builder, Ref, Reject
from verify.random_graphs.dtypes import ALL, is_float, native
from verify.random_graphs.models.registry import maker

__all__: list[str] = []

_I64 = TensorProto.INT64
_REDUCTIONS = """ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2
ReduceSumSquare ReduceLogSum ReduceLogSumExp ReduceSum ReduceMean ReduceMax""".split()


def _sizes(g: Builder, values: list[int]) -> Ref:
    """A constant of integers, or the same computed from a shape."""
    if values and g.chance(0.2) and g.refs:
        x = g.pick(where=lambda ref: ref.rank >= 1, fresh=0)
        shape = g.node("Shape", [x])[0]
        first = g.node("Gather", [shape, g.integers([0])], axis=0)[0]
        delta = g.integers([values[0] - x.shape[0]])
        parts = [g.node("Add", [first, delta])[0]]
        if len(values) > 1:
            parts.append(g.integers(values[1:]))
        return g.node("Concat", parts, axis=0)[0]
    return g.integers(values)


def _factors(g: Builder, total: int) -> list[int]:
    """Sizes with a product."""
    if total == 0:
        return [0 if i == 0 else g.integer(0, 3) for i in range(g.integer(1, 3))]
    dims: list[int] = []
    rest = total
    while rest > 1 and len(dims) < 4:
        divisors = [d for d in range(2, min(rest, 70) + 1) if rest % d == 0] or [rest]
        dims.append(g.choice(divisors))
        rest //= dims[-1]
    if rest > 1:
        dims.append(rest)
    for _ in range(g.integer(0, 2)):
        dims.insert(g.integer(0, len(dims)), 1)
    return g.shuffled(dims)


@maker("reshape", 4)
def _reshape(g: Builder) -> None:
    x = g.pick()
    target = _factors(g, x.array.size)
    if x.array.size and g.chance(0.4) and target:
        target[g.integer(0, len(target) - 1)] = -1
    if g.chance(0.3):
        for i in range(min(len(target), x.rank)):
            if target[i] == x.shape[i]:
                target[i] = 0
    zero = 0 in target and not x.array.size
    attributes = {"allowzero": 1} if zero and g.opset >= 14 and -1 not in target else {}
    if g.opset >= 5:
        g.node("Reshape", [x, _sizes(g, target)], **attributes)


@maker("transpose", 4)
def _transpose(g: Builder) -> None:
    x = g.pick(low=1)
    g.node("Transpose", [x], perm=g.choice((None, *[g.shuffled(range(x.rank))] * 4)))


@maker("flatten", 0.7)
def _flatten(g: Builder) -> None:
    x = g.pick(g.allowed("Flatten", 0))
    axis = g.integer(-x.rank if g.opset >= 11 else 0, x.rank)
    g.node("Flatten", [x], axis=g.choice((axis, None)) if x.rank else 0)


def _axes(
    g: Builder, op: str, since: int, x: Ref, axes: list[int] | None, **attributes: object
) -> Ref:
    """A node whose axes are an attribute or an input."""
    if axes is None:
        return g.node(op, [x], **attributes)[0]
    if g.opset < since:
        return g.node(op, [x], axes=axes, **attributes)[0]
    return g.node(op, [x, g.integers(axes)], **attributes)[0]


@maker("squeeze", 2)
def _squeeze(g: Builder) -> None:
    if g.chance(0.5):
        x = g.pick(where=lambda ref: 1 in ref.shape)
        ones = [i for i, n in enumerate(x.shape) if n == 1]
        axes = ones[: g.integer(1, len(ones))] if g.chance(0.7) else None
        if axes and g.opset >= 11 and g.chance(0.3):
            axes = [a - x.rank for a in axes]
        _axes(g, "Squeeze", 13, x, axes)
    else:
        x = g.pick(high=4)
        count = g.integer(1, 2)
        axes = sorted(g.shuffled(range(x.rank + count))[:count])
        if g.opset >= 11 and g.chance(0.3):
            axes = [a - x.rank - count for a in axes]
        _axes(g, "Unsqueeze", 13, x, axes)


@maker("expand", 2)
def _expand(g: Builder) -> None:
    if g.opset < 8:
        raise Reject("no Expand")
    x = g.pick(g.allowed("Expand", 0))
    target = [g.dimension() if n == 1 else g.choice((1, n)) for n in x.shape]
    while g.chance(0.3) and len(target) < 5:
        target.insert(0, g.integer(1, 4))
    if g.chance(0.1):
        target = target[-g.integer(1, len(target)) :] if target else target
    g.node("Expand", [x, _sizes(g, target)])


@maker("tile", 1.5)
def _tile(g: Builder) -> None:
    x = g.pick(g.allowed("Tile", 0))
    repeats = [g.choice((1, 1, 2, 3, 0 if g.style.zeros else 1)) for _ in x.shape]
    g.node("Tile", [x, g.integers(repeats)])


@maker("concat", 4)
def _concat(g: Builder) -> None:
    x = g.pick(g.allowed("Concat", 0), low=1)
    axis = g.integer(0, x.rank - 1)

    def fits(ref: Ref) -> bool:
        rest = [n for i, n in enumerate(ref.shape) if i != axis]
        return ref.rank == x.rank and rest == [n for i, n in enumerate(x.shape) if i != axis]

    parts = [x]
    for _ in range(g.integer(0, 3)):
        if g.chance(0.6):
            parts.append(g.pick((x.elem,), where=fits, fresh=0))
        else:
            shape = [g.dimension() if i == axis else n for i, n in enumerate(x.shape)]
            parts.append(g.weight(shape, x.elem))
    g.node(
        "Concat", g.shuffled(parts), axis=axis - x.rank if g.opset >= 11 and g.chance(0.3) else axis
    )


@maker("split", 2.5)
def _split(g: Builder) -> None:
    x = g.pick(g.allowed("Split", 0), low=1)
    axis = g.integer(0, x.rank - 1)
    size = x.shape[axis]
    count = g.integer(1, 4)
    attributes: dict[str, object] = {"axis": axis}
    if g.chance(0.5):
        cuts = sorted(g.integer(0, size) for _ in range(count - 1))
        parts = [b - a for a, b in zip([0, *cuts], [*cuts, size], strict=True)]
        if not g.style.zeros and 0 in parts:
            raise Reject("a part is empty")
        if g.opset >= 13:
            g.node("Split", [x, g.integers(parts)], count, **attributes)
        else:
            g.node("Split", [x], count, split=parts, **attributes)
        return
    if g.opset >= 18:
        if size == 0:
            raise Reject("nothing to split")
        g.node("Split", [x], count, num_outputs=count, **attributes)
    elif size and size % count == 0:
        g.node("Split", [x], count, **attributes)


@maker("slice", 5)
def _slice(g: Builder) -> None:
    x = g.pick(g.allowed("Slice", 0), low=1)
    axes = g.shuffled(range(x.rank))[: g.integer(1, x.rank)]
    starts, ends, steps = [], [], []
    for axis in axes:
        size = x.shape[axis]
        step = g.choice((1, 1, 1, 2, 3, -1, -2)) if g.opset >= 10 else 1
        a, b = sorted((g.integer(0, size), g.integer(0, size)))
        if a == b and not g.style.zeros:
            a, b = 0, size
        if step < 0:
            a, b = (b - 1, a - 1)
            b = -size - 1 if b < 0 else b
        elif g.chance(0.2):
            b = g.choice((2**31 - 1, 2**63 - 1, size + 5))
        if g.chance(0.2) and a > 0:
            a -= size
        starts.append(a)
        ends.append(b)
        steps.append(step)
    if g.opset < 10:
        g.node("Slice", [x], starts=starts, ends=ends, axes=axes)
        return
    kind = TensorProto.INT32 if g.chance(0.2) and max(ends) < 2**31 else _I64
    lists = [starts, ends, [a - x.rank if g.chance(0.2) else a for a in axes], steps]
    g.node("Slice", [x, *[g.constant(np.array(each, np.int64), kind) for each in lists]])


@maker("pad", 3)
def _pad(g: Builder) -> None:
    x = g.pick(g.allowed("Pad", 0), low=1)
    modes = ["constant", "constant", "reflect", "edge"] + ["wrap"] * (g.opset >= 19)
    mode = g.choice(modes)
    low = 0 if mode in ("reflect", "wrap", "edge") else -1
    pads: list[int] = []
    for side in range(2):
        for size in x.shape:
            most = (
                3 if mode == "constant" else min(3, size - 1) if mode != "edge" else 3 * (size > 0)
            )
            pads.append(
                g.integer(low if g.chance(0.2) and size > 3 and side == 0 else 0, max(most, 0))
            )
    if g.opset < 11:
        g.node(
            "Pad", [x], mode=mode, pads=pads, value=g.real(-2, 2) if mode == "constant" else None
        )
        return
    inputs: list[Ref | None] = [x, g.integers(pads)]
    if mode == "constant" and g.chance(0.6):
        value = np.array(g.real(-2, 2)) if is_float(x.elem) else np.array(g.integer(0, 1))
        inputs.append(g.constant(native(value, x.elem).astype(value.dtype), x.elem))
    if g.opset >= 18 and g.chance(0.3):
        axes = sorted(g.shuffled(range(x.rank))[: g.integer(1, x.rank)])
        inputs[1] = g.integers([pads[a] for a in axes] + [pads[a + x.rank] for a in axes])
        inputs += [None] * (3 - len(inputs)) + [g.integers(axes)]
    g.node("Pad", inputs, mode=mode)


@maker("reduce", 7)
def _reduce(g: Builder) -> None:
    op = g.choice(_REDUCTIONS)
    x = g.pick(g.allowed(op, 0))
    axes = g.choice(
        (None, sorted(g.shuffled(range(x.rank))[: g.integer(1, max(x.rank, 1))]), [x.rank - 1])
    )
    if x.rank == 0 or not axes:
        axes = None
    if not x.array.size and op in ("ReduceMax", "ReduceMin", "ReduceMean"):
        raise Reject("undefined for nothing")
    if axes and g.opset >= 11 and g.chance(0.3):
        axes = [a - x.rank for a in axes]
    since = 13 if op == "ReduceSum" else 18
    attributes: dict[str, object] = {"keepdims": g.choice((None, 0, 1))}
    if axes is None and g.opset >= since and g.chance(0.2):
        attributes["noop_with_empty_axes"] = 1
    _axes(g, op, since, x, axes, **attributes)


@maker("cum_sum", 1.5)
def _cum_sum(g: Builder) -> None:
    x = g.pick(g.allowed("CumSum", 0), low=1)
    axis = g.constant(np.array(g.integer(-x.rank, x.rank - 1)), g.choice((TensorProto.INT32, _I64)))
    op = "CumProd" if g.opset >= 26 and g.chance(0.3) else "CumSum"
    g.node(op, [x, axis], exclusive=g.choice((None, 1)), reverse=g.choice((None, 1)))


@maker("shape_arithmetic", 2)
def _shape_arithmetic(g: Builder) -> None:
    """Flattens all but one dimension by sizes that are computed from the value's own shape."""
    x = g.pick(low=2, where=lambda ref: bool(ref.array.size))
    shape = g.node("Shape", [x])[0]
    keep = g.integer(0, x.rank - 1)
    size = g.node("Gather", [shape, g.integers(keep)], axis=0)[0]
    size = _axes(g, "Unsqueeze", 13, size, [0])
    if g.chance(0.5):
        total = g.node("Size", [x])[0]
        rest = g.node("Div", [_axes(g, "Unsqueeze", 13, total, [0]), size])[0]
        target = g.node("Concat", [size, rest], axis=0)[0]
    else:
        target = g.node("Concat", [g.integers([-1]), size], axis=0)[0]
    g.node("Reshape", [x, target])
    if g.chance(0.3):
        g.node("ConstantOfShape", [shape])
    if g.chance(0.3):
        g.node("Cast", [shape], to=g.style.float_type)


@maker("depth_space", 1)
def _depth_space(g: Builder) -> None:
    op = g.choice(("DepthToSpace", "SpaceToDepth"))
    x = g.pick(
        g.allowed(op, 0),
        4,
        4,
        where=lambda r: (
            r.shape[1] % 4 == 0 if op == "DepthToSpace" else r.shape[2] % 2 == r.shape[3] % 2 == 0
        ),
    )
    mode = g.choice((None, "CRD", "DCR")) if op == "DepthToSpace" and g.opset >= 11 else None
    g.node(op, [x], blocksize=2, mode=mode)


@maker("trilu", 1)
def _trilu(g: Builder) -> None:
    x = g.pick(g.allowed("Trilu", 0), low=2)
    k = [g.integers(g.integer(-4, 4))] if g.chance(0.6) else []
    g.node("Trilu", [x, *k], upper=g.choice((None, 0, 1)))


@maker("constants", 1)
def _constants(g: Builder) -> None:
    kind = g.integer(0, 3)
    if kind == 0:
        shape = g.integers(list(g.shape(0, 3)))
        elem = g.choice(ALL[:-1])
        value = native(np.array([g.integer(0, 4)]), elem)
        from onnx import numpy_helper

        if elem == TensorProto.BFLOAT16:
            raise Reject("no such constant")
        g.node("ConstantOfShape", [shape], value=numpy_helper.from_array(value))
    elif kind == 1:
        g.node(
            "EyeLike",
            [g.pick(g.allowed("EyeLike", 0), 2, 2)],
            k=g.integer(-2, 2),
            dtype=g.choice((None, g.style.float_type)),
        )
    elif kind == 2:
        start, delta = g.integer(-4, 4), g.choice((1, 2, -1, 3))
        limits = [start, start + delta * g.integer(0 if g.style.zeros else 1, 12), delta]
        elem = g.choice((TensorProto.FLOAT, _I64, TensorProto.INT32))
        g.node("Range", [g.constant(np.array(v), elem) for v in limits])
    else:
        g.node(g.choice(("Shape", "Size")), [g.pick()])
