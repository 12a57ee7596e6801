# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions of networks: convolutions, norms, attention and losses, as PyTorch names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import xyntra.array as xa
from xyntra.array import Array
from xyntra.array.arrays import as_node, wrap
from xyntra.array.functions.indexing import taken
from xyntra.array.recorded.graph import LazyNode, meta_of
from xyntra.array.recorded.places import user_place
from xyntra.errors import InputError

__all__ = [
    "avg_pool2d", "batch_norm", "binary_cross_entropy_with_logits", "conv", "cross_entropy",
    "dropout", "embedding", "group_norm", "huber_loss", "kl_div", "l1_loss", "layer_norm", "linear",
    "max_pool2d", "mse_loss", "nll_loss", "rms_norm", "scaled_dot_product_attention",
]  # fmt: skip


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """Return `x @ weight.T + bias`."""
    found: Array = x @ weight.T
    return found if bias is None else found + bias


def _each(value: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """Return one integer for each spatial dimension."""
    return (value,) * rank if isinstance(value, int) else tuple(value)


def conv(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Array:
    """Return the convolution of images [N, C, *spatial] with kernels [M, C / groups, *window].

    Raises:
        InputError: ranks or channels do not fit, or the window is larger than the padded image.
    """
    rank = weight.ndim - 2
    steps, pads, spread = _each(stride, rank), _each(padding, rank), _each(dilation, rank)
    sizes = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(x.shape[2:], weight.shape[2:], steps, pads, spread, strict=False)
    ]
    fits = rank >= 1 and x.ndim == weight.ndim and x.shape[1] == weight.shape[1] * groups
    if not fits or weight.shape[0] % groups or any(size < 1 for size in sizes):
        raise InputError(
            "array-convolution",
            f"images of {list(x.shape)} are not convolved with kernels of {list(weight.shape)}",
            place=user_place(),
            cause=f"{weight.shape[1] * groups} channels in {groups} groups, equal ranks and"
            " windows that the padded image holds are expected",
        )
    attrs = (
        ("stride", steps), ("padding", pads), ("dilation", spread), ("transposed", False),
        ("output_padding", (0,) * rank), ("groups", groups),
    )  # fmt: skip
    a, w = as_node(x), as_node(weight.astype(x.dtype, copy=False))
    meta = meta_of((x.shape[0], weight.shape[0], *sizes), x.dtype)
    found = wrap(LazyNode("conv", (a, w), attrs, meta))
    return found if bias is None else found + bias.reshape((-1, *(1,) * rank))


def _pooled(op: str, x: Array, attrs: dict[str, Any]) -> Array:
    if x.ndim != 4:
        raise InputError(
            "array-rank", f"pooling of an array of rank {x.ndim}", place=user_place(),
            cause="images have four dimensions: [N, C, H, W]",
        )  # fmt: skip
    spread = attrs.get("dilation", (1, 1))
    rows = zip(
        x.shape[2:], attrs["kernel_size"], attrs["stride"], attrs["padding"], spread, strict=True
    )
    sizes = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in rows]
    meta = meta_of((*x.shape[:2], *sizes), x.dtype)
    return wrap(LazyNode(op, (as_node(x),), tuple(attrs.items()), meta))


def _windows(
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None,
    padding: int | Sequence[int],
) -> dict[str, Any]:
    """Return the attributes of windows of images, which lie side by side without a stride."""
    window = _each(kernel_size, 2)
    return {
        "kernel_size": window,
        "stride": window if stride is None else _each(stride, 2),
        "padding": _each(padding, 2),
    }


def max_pool2d(
    x: Array,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
) -> Array:
    """Return the largest elements of windows of images [N, C, H, W]."""
    windows = _windows(kernel_size, stride, padding)
    return _pooled("max_pool", x, {**windows, "dilation": (1, 1)})


def avg_pool2d(
    x: Array,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
) -> Array:
    """Return the means of windows of images [N, C, H, W]; the padding counts as zeros."""
    windows = _windows(kernel_size, stride, padding)
    return _pooled("avg_pool", x, {**windows, "count_include_pad": True})


def _normalised(x: Array, axes: tuple[int, ...], eps: float) -> Array:
    wide = x.astype(xa.float32) if x.dtype.bits == 16 else x
    mean = xa.mean(wide, axis=axes, keepdims=True)
    centred = wide - mean
    variance = xa.mean(xa.square(centred), axis=axes, keepdims=True)
    found: Array = centred * xa.rsqrt(variance + eps)
    return found.astype(x.dtype, copy=False)


def layer_norm(
    x: Array, shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Array:
    """Return the last dimensions, of `shape`, with a mean of 0 and a variance of 1."""
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    found = _normalised(x, axes, eps)
    found = found if weight is None else found * weight
    return found if bias is None else found + bias


def rms_norm(x: Array, shape: Sequence[int], weight: Any = None, eps: float = 1e-6) -> Array:
    """Return the elements of the last dimensions, of `shape`, over their root mean square."""
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    wide = x.astype(xa.float32) if x.dtype.bits == 16 else x
    scale = xa.rsqrt(xa.mean(xa.square(wide), axis=axes, keepdims=True) + eps)
    found: Array = (wide * scale).astype(x.dtype, copy=False)
    return found if weight is None else found * weight


def group_norm(
    x: Array, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Array:
    """Return images [N, C, *spatial] normalised over groups of channels."""
    rows = x.reshape((x.shape[0], groups, -1))
    found = _normalised(rows, (2,), eps).reshape(x.shape)
    spread = (1, -1, *(1,) * (x.ndim - 2))
    found = found if weight is None else found * weight.reshape(spread)
    return found if bias is None else found + bias.reshape(spread)


def batch_norm(
    x: Array, mean: Any, variance: Any, weight: Any, bias: Any, eps: float = 1e-5
) -> Array:
    """Return images [N, C, *spatial] normalised by statistics of their channels."""
    spread = (1, -1, *(1,) * (x.ndim - 2))
    scale = xa.rsqrt(variance + eps)
    scale = scale if weight is None else scale * weight
    found: Array = (x - mean.reshape(spread)) * scale.reshape(spread)
    return found if bias is None else found + bias.reshape(spread)


def embedding(places: Any, weight: Array) -> Array:
    """Return the rows of a table at places, which may have any shape."""
    node = as_node(places)
    flat = as_node(wrap(node).reshape(-1))
    found = wrap(taken(as_node(weight), flat, 0))
    return found.reshape((*node.meta.shape, *weight.shape[1:]))


def dropout(x: Array, probability: float) -> Array:
    """Return the elements, each 0 with a probability, scaled so that their mean stays."""
    if not probability:
        return x
    kept = xa.random.bernoulli(1.0 - probability, x.shape)
    return xa.where(kept, x * (1.0 / (1.0 - probability)), 0.0)


def scaled_dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Array:
    """Return softmax(query @ key.mT * scale + mask) @ value.

    Args:
        query: [..., heads, length, size]; `key` and `value` may have fewer heads, a divisor.
        key: [..., heads, length, size].
        value: [..., heads, length, size].
        mask: booleans, true where attention is paid, or numbers to be added.
        is_causal: whether positions attend to those before alone.
        scale: 1 / sqrt(size) where not given.
    """
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise InputError(
            "array-rank", "attention is of arrays [batch, heads, length, size]", place=user_place()
        )
    if (
        query.shape[1] % key.shape[1]
        or key.shape[:3] != value.shape[:3]
        or query.shape[3] != key.shape[3]
    ):
        raise InputError(
            "array-attention",
            f"queries of {list(query.shape)} do not attend to keys of {list(key.shape)} and values"
            f" of {list(value.shape)}",
            place=user_place(),
        )
    attrs = (
        ("causal", is_causal), ("scale", scale), ("grouped", query.shape[1] != key.shape[1]),
    )  # fmt: skip
    given = [query, key, value, *([] if mask is None else [mask])]
    meta = meta_of((*query.shape[:-1], value.shape[-1]), query.dtype)
    return wrap(LazyNode("attention", tuple(map(as_node, given)), attrs, meta))


def _mean_of(losses: Array, reduction: str) -> Array:
    if reduction == "none":
        return losses
    if reduction not in ("mean", "sum"):
        raise InputError(
            "array-argument", f"reduction={reduction!r} is not 'mean', 'sum' or 'none'"
        )
    return xa.mean(losses) if reduction == "mean" else xa.sum(losses)


def cross_entropy(
    logits: Array, targets: Any, *, label_smoothing: float = 0.0, reduction: str = "mean"
) -> Array:
    """Return the negative logarithm of the probability of targets [N], classes of logits [N, C]."""
    scores = xa.log_softmax(logits, axis=1)
    places = xa.asarray(targets)
    losses = -xa.take_along_axis(scores, xa.expand_dims(places, axis=1), axis=1).squeeze(1)
    if label_smoothing:
        even = -xa.mean(scores, axis=1)
        losses = losses * (1.0 - label_smoothing) + even * label_smoothing
    return _mean_of(losses, reduction)


def nll_loss(scores: Array, targets: Any, *, reduction: str = "mean") -> Array:
    """Return the negative score, a logarithm of a probability, of each target."""
    places = xa.expand_dims(xa.asarray(targets), axis=1)
    return _mean_of(-xa.take_along_axis(scores, places, axis=1).squeeze(1), reduction)


def mse_loss(x: Array, target: Any, *, reduction: str = "mean") -> Array:
    """Return the squared difference."""
    return _mean_of(xa.square(x - target), reduction)


def l1_loss(x: Array, target: Any, *, reduction: str = "mean") -> Array:
    """Return the absolute difference."""
    return _mean_of(xa.abs(x - target), reduction)


def huber_loss(x: Array, target: Any, *, delta: float = 1.0, reduction: str = "mean") -> Array:
    """Return half of the squared difference, beyond `delta` the difference itself, continued."""
    distance = xa.abs(x - target)
    far = (distance - 0.5 * delta) * delta
    return _mean_of(xa.where(distance < delta, xa.square(distance) * 0.5, far), reduction)


def binary_cross_entropy_with_logits(x: Array, target: Any, *, reduction: str = "mean") -> Array:
    """Return the cross-entropy of probabilities whose logits are `x`."""
    return _mean_of(xa.softplus(x) - x * target, reduction)


def kl_div(scores: Array, target: Any, *, reduction: str = "mean") -> Array:
    """Return the divergence of probabilities `target` from those whose logarithms are `scores`."""
    known = target > 0
    logs = xa.log(xa.where(known, target, 1.0))
    return _mean_of(xa.where(known, target * (logs - scores), 0.0), reduction)
