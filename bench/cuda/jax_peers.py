# SPDX-License-Identifier: MIT OR Apache-2.0
"""The operations of `bench.cuda` as users of JAX write them, compiled by XLA.

XLA launches on streams of its own, so that its work cannot be captured with that of the others:
calls that follow one another are timed on the processor's clock instead. That is the GPU's time
where a call takes longer than its dispatch, `LEAST` and more.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # PyTorch needs memory, too

import jax
import jax.numpy as jnp

from bench.cuda.operations import Operation

__all__ = ["LEAST", "jax_work", "microseconds_of_jax"]

LEAST = 40.0
"""Microseconds that an operation must take for a time of JAX's to be the GPU's."""
_CALLS = 10  # between two waits
_EPSILON = 1e-5
Work = Callable[[], Any]


def jax_work(operation: Operation, inputs: list[Any]) -> Work | None:
    """Return one call of JAX's with the arrays of `inputs`, or None if there is no such function.

    Args:
        operation: what is computed.
        inputs: tensors of PyTorch's on the GPU, contiguous; nothing is copied.
    """
    function = _FUNCTIONS.get(operation.kind)
    if function is None:
        return None
    arrays = [jnp.from_dlpack(each) for each in inputs]
    return partial(jax.jit(function), *arrays)


def microseconds_of_jax(work: Work, rounds: int) -> float:
    """Return the median microseconds of a call of `work` among calls that follow one another."""
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        for _ in range(_CALLS):
            result = work()
        jax.block_until_ready(result)
        times.append((time.perf_counter() - start) / _CALLS * 1e6)
    return statistics.median(times[1:])  # the first one compiles


def _gelu(x: Any) -> Any:
    return jax.nn.gelu(x, approximate=False)


def _rms_norm(x: Any, weight: Any) -> Any:
    wide = x.astype(jnp.float32)
    scale = jax.lax.rsqrt(jnp.square(wide).mean(-1, keepdims=True) + _EPSILON)
    return (wide * scale).astype(x.dtype) * weight


def _layer_norm(x: Any, weight: Any, bias: Any) -> Any:
    wide = x.astype(jnp.float32)
    centred = wide - wide.mean(-1, keepdims=True)
    scale = jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + _EPSILON)
    return (centred * scale).astype(x.dtype) * weight + bias


def _attention(q: Any, k: Any, v: Any, *, causal: bool = False) -> Any:
    # Its arrays are batch, length, heads, size; the transposes are the caller's to make.
    moved = (jnp.swapaxes(each, 1, 2) for each in (q, k, v))
    found = jax.nn.dot_product_attention(*moved, is_causal=causal, implementation="cudnn")
    return jnp.swapaxes(found, 1, 2)


_product = partial(jnp.matmul, precision="highest")  # f32 as f32; 16 bits are what they are
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "chain": lambda x, a, b, c: _gelu(x * a + b) * c,
    "softmax": jax.nn.softmax,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "matmul": _product,
    "matmul_bias_gelu": lambda a, b, c: _gelu(_product(a, b) + c),
    "attention": _attention,
    "causal_attention": partial(_attention, causal=True),
}
