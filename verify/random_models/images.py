# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random models of convolutions and pooling."""

from __future__ import annotations

from math import prod

from verify.random_models.case import Case
from verify.random_models.maker import CaseMaker, Value

__all__ = ["convolution"]

_CHANNELS = (1, 2, 3, 4, 5, 7, 8, 12, 16, 16, 20, 24, 32, 32, 33, 48, 64, 64, 96, 128)
_SIDES = (1, 2, 3, 5, 7, 8, 9, 12, 14, 15, 16, 17, 23, 28, 33)
_WORK = 1 << 24
"""Multiplications."""
_KINDS = (("float32", "f32"), ("float32", "tf32"), ("float16", "f32"), ("float16", "f32"),
          ("bfloat16", "f32"))  # fmt: skip


def convolution(seed: int) -> Case:
    """A convolution or pooling with what stands around it."""
    m = CaseMaker("convolution", seed)
    dtype, m.precision = m.pick(*_KINDS)
    m.prefer = m.pick("", "", "", "warpgroups", "threads")
    form = m.pick("plain", "plain", "plain", "plain", "pointwise", "depthwise", "grouped",
                  "transposed", "pooling")  # fmt: skip
    shape = [m.pick(1, 1, 2, 3), m.pick(*_CHANNELS), m.pick(*_SIDES), m.pick(*_SIDES)]
    if m.chance(0.02):
        shape[0] = 0
    if form == "pooling":
        y, words = _pool(m, m.leaf(dtype, shape))
    elif form == "transposed":
        y, words = _transposed(m, dtype, shape)
    else:
        y, words = _convolved(m, dtype, shape, form)
    y, behind = _behind(m, y)
    precision = m.precision if dtype == "float32" else ""
    return m.finish(y, label=f"{form} {dtype}{precision} {shape} {words} {behind} {m.prefer}")


def _groups(m: CaseMaker, shape: list[int], form: str) -> tuple[int, int]:
    """Groups and output channels; `shape` is made to fit."""
    if form == "depthwise":
        return shape[1], shape[1] * m.pick(1, 1, 2)
    if form == "grouped":
        groups = m.pick(2, 3, 4)
        shape[1] = groups * m.pick(1, 4, 8, 16)
        return groups, groups * m.pick(1, 4, 8, 16, 20)
    return 1, m.pick(*_CHANNELS)


def _convolved(m: CaseMaker, dtype: str, shape: list[int], form: str) -> tuple[Value, str]:
    groups, outputs = _groups(m, shape, form)
    taps = [1, 1] if form == "pointwise" else [m.pick(1, 2, 3, 3, 3, 5, 7) for _ in range(2)]
    strides = [m.pick(1, 1, 1, 2, 3) for _ in range(2)]
    dilations = [m.pick(1, 1, 1, 2, 3) if n > 1 else 1 for n in taps]
    pads = [m.pick(0, 0, 1, 2, n // 2) if n > 1 else 0 for n in taps * 2]
    if m.chance(0.5):
        pads = [apart * (n // 2) for n, apart in zip(taps, dilations, strict=True)] * 2
    spans = [(n - 1) * apart + 1 for n, apart in zip(taps, dilations, strict=True)]
    sizes = _sizes(shape, spans, strides, pads)
    weight = [outputs, shape[1] // groups, *taps]
    while prod(weight) * prod(sizes) * shape[0] > _WORK and shape[0] * shape[2] * shape[3] > 1:
        shape[:] = [min(shape[0], 1), shape[1], -(-shape[2] // 2), -(-shape[3] // 2)]
        sizes = _sizes(shape, spans, strides, pads)
    operands = [m.leaf(dtype, shape), m.leaf(dtype, weight, m.pick("weight", "weight", "input"))]
    if m.chance(0.6):
        operands.append(m.leaf(dtype, [outputs], "weight"))
    y = m.step(
        "Conv", operands, [shape[0], outputs, *sizes],
        kernel_shape=taps, strides=strides, dilations=dilations, pads=pads, group=groups,
    )  # fmt: skip
    return y, f"weight {weight} strides {strides} dilations {dilations} pads {pads} groups {groups}"


def _sizes(shape: list[int], spans: list[int], strides: list[int], pads: list[int]) -> list[int]:
    """The image of the result; `shape` grows where a window would not fit."""
    for d in range(2):
        shape[2 + d] = max(shape[2 + d], spans[d] - pads[d] - pads[2 + d])
    around = [pads[d] + pads[2 + d] for d in range(2)]
    return [(shape[2 + d] + around[d] - spans[d]) // strides[d] + 1 for d in range(2)]


def _transposed(m: CaseMaker, dtype: str, shape: list[int]) -> tuple[Value, str]:
    m.special = False  # infinities are multiplied by zeros that stand for taps
    shape[2:] = [min(n, 9) for n in shape[2:]]
    groups, outputs = _groups(m, shape, m.pick("plain", "plain", "grouped"))
    taps = [m.pick(1, 2, 3, 4) for _ in range(2)]
    strides = [m.pick(1, 2, 2, 3) for _ in range(2)]
    dilations = [m.pick(1, 1, 1, 2) for _ in range(2)]
    extra = [m.random.randrange(n) if m.chance(0.3) else 0 for n in strides]
    extents = [strides[d] * (shape[2 + d] - 1) + dilations[d] * (taps[d] - 1) + 1 for d in range(2)]
    pads = [m.pick(0, 1) if n > 2 else 0 for n in extents * 2]
    sizes = [extents[d] + extra[d] - pads[d] - pads[2 + d] for d in range(2)]
    weight = [shape[1], outputs // groups, *taps]
    operands = [m.leaf(dtype, shape), m.leaf(dtype, weight, "weight")]
    if m.chance(0.5):
        operands.append(m.leaf(dtype, [outputs], "weight"))
    y = m.step(
        "ConvTranspose", operands, [shape[0], outputs, *sizes], kernel_shape=taps, strides=strides,
        dilations=dilations, pads=pads, group=groups, output_padding=extra,
    )  # fmt: skip
    return y, f"weight {weight} strides {strides} dilations {dilations} pads {pads} more {extra}"


def _pool(m: CaseMaker, x: Value) -> tuple[Value, str]:
    if m.chance(0.2):
        return m.step("GlobalAveragePool", [x], [*x.shape[:2], 1, 1]), "global"
    taps = [min(n, m.pick(1, 2, 3, 5)) for n in x.shape[2:]]
    strides = [m.pick(1, 2, 3) for _ in range(2)]
    pads = [m.random.randint(0, n // 2) for n in taps * 2]
    sizes = _sizes(list(x.shape), taps, strides, pads)
    name = m.pick("MaxPool", "AveragePool")
    more = {"count_include_pad": m.pick(0, 1)} if name == "AveragePool" else {}
    y = m.step(
        name, [x], [*x.shape[:2], *sizes], kernel_shape=taps, strides=strides, pads=pads, **more
    )
    return y, f"{name} {taps} strides {strides} pads {pads}"


def _behind(m: CaseMaker, y: Value) -> tuple[Value, str]:
    words = []
    channels = y.shape[1]
    if y.dtype == "float32" and m.chance(0.3):
        columns = [m.leaf(y.dtype, [channels], "weight") for _ in range(3)]
        variance = m.leaf(y.dtype, [channels], "weight")
        variance = m.step("Abs", [variance], [channels])
        y = m.step("BatchNormalization", [y, *columns, variance], y.shape, epsilon=0.125)
        words.append("batch norm")
    if m.chance(0.25):
        y = m.step("Add", [y, m.leaf(y.dtype, y.shape)], y.shape)
        words.append("residual")
    if m.chance(0.5):
        name = m.pick("Relu", "Relu", "Sigmoid", "Swish")
        y = m.step(name, [y], y.shape)
        words.append(name)
    return y, " ".join(words)
