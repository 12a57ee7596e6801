# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records convolutions, poolings and attention."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

from xyntra.errors import KernelError
from xyntra.frontends.kernel.functions.elementwise import binary
from xyntra.frontends.kernel.functions.shapes import reshaped
from xyntra.frontends.kernel.language import array_of, constant, constant_int, language
from xyntra.frontends.kernel.promotion import cast, check_kind, common_dtype
from xyntra.frontends.kernel.recorder import KernelRecorder
from xyntra.frontends.kernel.values import ArrayValue, HostScalar

__all__: list[str] = []


@language("conv")
def conv(
    r: KernelRecorder,
    x: Any,
    weight: Any,
    bias: Any = None,
    /,
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: Any = 1,
) -> ArrayValue:
    """A convolution of an image [N, C, …] with a weight [M, C / groups, …], for 1 to 3 dimensions.

    `padding` is "same" (stride 1), or how many zeros there are at both ends of each dimension.
    With as many groups as channels it is depthwise.
    """
    image, taps = array_of("xl.conv", x), array_of("xl.conv", weight)
    dtype = common_dtype(image, taps, what="xl.conv")
    check_kind("xl.conv", image, 2)
    rank = taps.ndim - 2
    if not 1 <= rank <= 3 or image.ndim != taps.ndim:
        raise KernelError(
            "kernel-shape",
            f"xl.conv takes [N, C, …] and [M, C / groups, …], not {image} and {taps}",
        )
    count = constant_int("groups", groups)
    if count < 1 or taps.shape[0] % count or image.shape[1] != taps.shape[1] * count:
        raise KernelError(
            "kernel-shape",
            f"xl.conv: {image.shape[1]} channels, a weight of {taps.shape[1]} and groups={count}",
            hint="the weight is [M, C / groups, …], and M is a multiple of groups",
        )
    strides, dilations = (
        _numbers("stride", stride, rank, 1),
        _numbers("dilation", dilation, rank, 1),
    )
    pads = _paddings(padding, taps.shape[2:], strides, dilations)
    spatial = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, p, d, k, s in zip(
            image.shape[2:], pads, dilations, taps.shape[2:], strides, strict=True
        )
    ]
    if any(size < 1 for size in spatial) or not image.size or not taps.size:
        raise KernelError("kernel-shape", f"xl.conv: no window of {taps.shape} fits {image.shape}")
    offset = None if bias is None else cast(r, array_of("xl.conv", bias), dtype)
    if offset is not None and offset.shape != (taps.shape[0],):
        raise KernelError("kernel-shape", f"xl.conv: the bias is {offset}, not ({taps.shape[0]},)")
    return r.call(
        "aten.convolution.default",
        dtype,
        [image.shape[0], taps.shape[0], *spatial],
        input=cast(r, image, dtype),
        weight=cast(r, taps, dtype),
        bias=offset,
        stride=strides,
        padding=pads,
        dilation=dilations,
        transposed=False,
        output_padding=[0] * rank,
        groups=count,
    )


def _numbers(name: str, value: Any, rank: int, least: int) -> list[int]:
    given = value if isinstance(value, (tuple, list)) else [value] * rank
    found = [constant_int(name, each) for each in given]
    if len(found) != rank or min(found) < least:
        raise KernelError("kernel-shape", f"{name}={value} is not for {rank} dimensions")
    return found


def _paddings(
    padding: Any, window: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> list[int]:
    if padding != "same":
        return _numbers("padding", padding, len(window), 0)
    total = [d * (k - 1) for k, d in zip(window, dilations, strict=True)]
    if any(n % 2 for n in total) or any(s != 1 for s in strides):
        raise KernelError("kernel-shape", 'padding="same" is for windows of odd sizes and stride 1')
    return [n // 2 for n in total]


@language("max_pool")
def max_pool(
    r: KernelRecorder, x: Any, window: Any, /, *, stride: Any = None, padding: Any = 0
) -> ArrayValue:
    """The largest element of each window of an image [N, C, H, W]."""
    image, arguments, shape = _pool(x, "xl.max_pool", window, stride, padding)
    types = [(image.dtype, shape), ("int64", shape)]
    return r.calls(
        "aten.max_pool2d_with_indices.default", types, self=image, dilation=[1, 1], **arguments
    )[0]


@language("avg_pool")
def avg_pool(
    r: KernelRecorder, x: Any, window: Any, /, *, stride: Any = None, padding: Any = 0
) -> ArrayValue:
    """The mean of each window of an image [N, C, H, W]; zeros of the padding count."""
    image, arguments, shape = _pool(x, "xl.avg_pool", window, stride, padding)
    return r.call(
        "aten.avg_pool2d.default",
        image.dtype,
        shape,
        self=image,
        count_include_pad=True,
        divisor_override=None,
        **arguments,
    )


def _pool(
    x: Any, name: str, window: Any, stride: Any, padding: Any
) -> tuple[ArrayValue, dict[str, Any], list[int]]:
    image = array_of(name, x)
    check_kind(name, image, 2)
    if image.ndim != 4 or not image.size:
        raise KernelError("kernel-shape", f"{name} takes an image [N, C, H, W], not {image}")
    sizes = _numbers("window", window, 2, 1)
    steps = sizes if stride is None else _numbers("stride", stride, 2, 1)
    pads = _numbers("padding", padding, 2, 0)
    spatial = [
        (n + 2 * p - k) // s + 1
        for n, p, k, s in zip(image.shape[2:], pads, sizes, steps, strict=True)
    ]
    if min(spatial) < 1 or any(2 * p > k for p, k in zip(pads, sizes, strict=True)):
        raise KernelError("kernel-shape", f"{name}: no window {sizes} fits {image.shape}")
    arguments = {"kernel_size": sizes, "stride": steps, "padding": pads, "ceil_mode": False}
    return image, arguments, [*image.shape[:2], *spatial]


@language("attention")
def attention(
    r: KernelRecorder,
    query: Any,
    key: Any,
    value: Any,
    /,
    *,
    score: Any = None,
    mask: Any = None,
    scale: Any = None,
    causal: Any = False,
) -> ArrayValue:
    """`softmax(scale * query @ key.mT) @ value`, for arrays [batch, heads, positions, size].

    `score(s, b, h, i, j)` takes the scores (float32 for 16-bit arrays) and the positions of batch,
    head, query and key, all of which broadcast, and returns new scores. `mask(b, h, i, j)`, or an
    array of booleans, tells which keys j count for query i. `causal` leaves out keys behind the
    query. A row of which no key counts is NaN. Keys may have fewer heads, which queries share.
    """
    q, k, v = (array_of("xl.attention", each) for each in (query, key, value))
    _check_heads(q, k, v)
    dtype = common_dtype(q, k, v, what="xl.attention")
    check_kind("xl.attention", q, 2)
    shared = q.shape[1] // k.shape[1]
    wide = "float32" if dtype in ("float16", "bfloat16") else dtype
    batch, heads, queries, size = q.shape
    keys, out = k.shape[2], v.shape[3]
    q, k, v = (cast(r, each, dtype) for each in (q, k, v))
    letters = ("bhqd", "bhkd", "bhqk", "bhke", "bhqe")
    if shared > 1:
        q = reshaped(r, q, [batch, heads // shared, shared, queries, size])
        letters = ("bgrqd", "bgkd", "bgrqk", "bgke", "bgrqe")
    grouped = [batch, heads // shared, shared] if shared > 1 else [batch, heads]
    scores = r.call(
        "xyntra.einsum",
        wide,
        [*grouped, queries, keys],
        equation=f"{letters[0]},{letters[1]}->{letters[2]}",
        operands=[q, k],
    )
    scores = _scaled(r, scores, scale, size)
    whole = (batch, heads, queries, keys)
    if score is not None or mask is not None or constant(causal):
        scores = reshaped(r, scores, whole)
        scores = _scored(r, scores, score, mask, bool(constant(causal)))
        scores = reshaped(r, scores, [*grouped, queries, keys])
    at = scores.ndim - 1
    weights = r.call("aten._softmax.default", wide, scores.shape, self=scores, dim=at)
    found = r.call(
        "xyntra.einsum",
        dtype,
        [*grouped, queries, out],
        equation=f"{letters[2]},{letters[3]}->{letters[4]}",
        operands=[weights, v],
    )
    return reshaped(r, found, [batch, heads, queries, out])


def _check_heads(q: ArrayValue, k: ArrayValue, v: ArrayValue) -> None:
    fits = q.ndim == k.ndim == v.ndim == 4 and q.shape[0] == k.shape[0] and q.shape[3] == k.shape[3]
    if not fits or k.shape[:3] != v.shape[:3] or not k.shape[1] or q.shape[1] % k.shape[1]:
        raise KernelError(
            "kernel-shape",
            f"xl.attention: a query {q.shape}, a key {k.shape} and a value {v.shape}",
            hint="all are [batch, heads, positions, size]; key and value have the same heads",
        )
    if not k.shape[2] or not q.shape[3]:
        raise KernelError("kernel-shape", f"xl.attention: there are no keys in {k.shape}")


def _scaled(r: KernelRecorder, scores: ArrayValue, scale: Any, size: int) -> ArrayValue:
    if isinstance(scale, (ArrayValue, HostScalar)):
        return binary(r, "scale", "aten.mul.Tensor", scores, scale, (2,))
    factor = 1 / sqrt(size) if scale is None else float(constant(scale))
    return r.call("aten.mul.Tensor", scores.dtype, scores.shape, self=scores, other=factor)


def _scored(
    r: KernelRecorder, scores: ArrayValue, score: Any, mask: Any, causal: bool
) -> ArrayValue:
    """Apply the user's function, and leave out the keys that do not count."""
    shape = scores.shape
    positions = [
        r.call(
            "xyntra.index", "int64", [n if d == axis else 1 for d, n in enumerate(shape)], axis=axis
        )
        for axis in range(4)
    ]
    if score is not None:
        scores = _checked(score(r, scores, *positions), scores)
    flags: list[ArrayValue] = []
    if mask is not None:
        flags.append(mask if isinstance(mask, ArrayValue) else mask(r, *positions))
        check_kind("the mask of xl.attention", array_of("the mask", flags[0]), 0)
    if causal:
        causal_shape = (1, 1, *shape[2:])
        i, j = positions[2:]
        flags.append(r.call("aten.le.Tensor", "bool", causal_shape, self=j, other=i))
    for each in flags:
        if len(each.shape) > 4 or any(
            n not in (1, size) for n, size in zip(each.shape[::-1], shape[::-1], strict=False)
        ):
            raise KernelError("kernel-shape", f"xl.attention: a mask {each} for scores {shape}")
        scores = r.call(
            "aten.where.self",
            scores.dtype,
            shape,
            condition=each,
            self=scores,
            other=float("-inf"),
        )
    return scores


def _checked(found: Any, scores: ArrayValue) -> ArrayValue:
    new = array_of("the score function's result", found)
    if new.shape != scores.shape or new.dtype != scores.dtype:
        raise KernelError(
            "kernel-shape",
            f"the score function of xl.attention returns {new}, not {scores}",
            hint="convert what it adds: xl.astype(bias, s.dtype)",
        )
    return new
