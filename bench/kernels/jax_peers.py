# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the kernels of `cases.py` for JAX, which compiles each as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

__all__ = ["PEERS", "entrant"]


def _gelu(x: Any, bias: Any) -> Any:
    return jax.nn.gelu(x + bias, approximate=False)


def _layer_norm(x: Any, scale: Any, bias: Any) -> Any:
    wide = x.astype(jnp.float32)
    centred = wide - wide.mean(-1, keepdims=True)
    variance = jnp.square(centred).mean(-1, keepdims=True)
    return (centred * jax.lax.rsqrt(variance + 1e-5) * scale + bias).astype(x.dtype)


def _rms_norm(x: Any, scale: Any, eps: float) -> Any:
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.square(wide).mean(-1, keepdims=True) + eps) * scale).astype(
        x.dtype
    )


def _rotary(x: Any, cos: Any, sin: Any) -> Any:
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def _chain(x: Any, y: Any, z: Any) -> Any:
    s = jax.nn.sigmoid(x * y) * jnp.tanh(y - z) + jnp.where(z > 0, x, y * 0.1)
    return jnp.sqrt(s * s + 1) * jnp.exp(-jnp.abs(z)) + jnp.maximum(x, z)


def _causal(q: Any, k: Any, v: Any) -> Any:
    given = [jnp.swapaxes(each, 1, 2) for each in (q, k, v)]
    implementation = "cudnn" if jax.default_backend() == "gpu" else None
    found = jax.nn.dot_product_attention(*given, is_causal=True, implementation=implementation)
    return jnp.swapaxes(found, 1, 2)


def _convolution(x: Any, w: Any) -> Any:
    return jax.lax.conv(x, w, (1, 1), "SAME")


def _depthwise(x: Any, w: Any) -> Any:
    return jax.nn.relu(
        jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=x.shape[1])
    )


def _moments(x: Any) -> Any:
    wide = x.astype(jnp.float32)
    return (wide.mean(-1) + wide.var(-1)).astype(x.dtype)


PEERS: dict[str, Callable[..., Any]] = {
    "call of 64 elements": _gelu,
    "bias and GELU": _gelu,
    "softmax": lambda x: jax.nn.softmax(x, axis=-1),
    "layer norm": _layer_norm,
    "RMS norm": _rms_norm,
    "rotary embedding": _rotary,
    "chain of 14": _chain,
    "product": jnp.matmul,
    "product, bias, GELU": lambda x, w, bias: _gelu(x @ w, bias),
    "attention, causal": _causal,
    "mean and variance": _moments,
    "convolution 3 x 3": _convolution,
    "depthwise 3 x 3": _depthwise,
}


def entrant(name: str, tensors: Sequence[Any], numbers: Sequence[float]) -> Callable[[], Any]:
    """Return a call of a kernel on PyTorch's tensors, which are taken once; it waits for nothing.

    Its results are JAX's arrays, with `block_until_ready`.
    """
    arrays = [jnp.from_dlpack(each) for each in tensors]
    compiled = jax.jit(PEERS[name])
    return lambda: compiled(*arrays, *numbers)
