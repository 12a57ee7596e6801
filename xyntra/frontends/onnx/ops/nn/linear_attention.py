# SPDX-License-Identifier: MIT OR Apache-2.0
"""Linear attention: a recurrent state of keys and values, unrolled over a static length."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from xyntra.dialects.builder import Tensor
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.slices import concatenate
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import cast
from xyntra.frontends.onnx.ops.recurrent.layer import MAX_STEPS

_RULES = {
    "linear": (False, False), "gated": (True, False),
    "delta": (False, True), "gated_delta": (True, True),
}  # fmt: skip
"""By name: whether the state decays, and whether only what it does not know yet is added."""


@dataclass(frozen=True)
class _Inputs:
    """The inputs in float32, their heads as dimensions.

    Attributes:
        query: [batch, steps, groups, shared, key size].
        key: [batch, steps, groups, key size].
        value: [batch, steps, groups, value size].
        decay: [batch, steps, groups, key size or 1], or None.
        rate: [batch, steps, groups or 1, 1], or None.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    decay: Tensor | None
    rate: Tensor | None


@handles("LinearAttention")
def linear_attention(node: Node) -> list[Tensor]:
    b, dtype = node.b, node.tensor(0).dtype
    inputs = _inputs(node)
    steps, size = inputs.key.shape[1], inputs.key.shape[3]
    if not 0 < steps <= MAX_STEPS:
        raise node.unsupported(f"sequences of {steps} steps (1 to {MAX_STEPS} are unrolled)")
    scale = float(node.attribute("scale", 0.0)) or 1 / sqrt(size)
    state, state_dtype = _initial(node, inputs)
    outputs = []
    for step in range(steps):
        state = _update(node, inputs, state, step)
        query = _at(node, inputs.query, step)
        read = b.einsum("bgrk,bgkv->bgrv", query, state, "float32")
        read = b.map(lambda v: (v * scale).cast(dtype), read, dtype=dtype)
        outputs.append(
            b.reshape(read, [read.shape[0], 1, read.shape[1] * read.shape[2] * read.shape[3]])
        )
    return [concatenate(b, outputs, 1), cast(b, state, state_dtype)]


def _inputs(node: Node) -> _Inputs:
    heads, groups = int(node.required("q_num_heads")), int(node.required("kv_num_heads"))
    rule = str(node.attribute("update_rule", "gated_delta"))
    if rule not in _RULES:
        raise node.invalid(f"attribute 'update_rule' is '{rule}'")
    if groups < 1 or heads < 1 or heads % groups:
        raise node.invalid(f"{heads} query heads do not split into {groups} groups")
    for (position, name), wanted in zip(((4, "decay"), (5, "beta")), _RULES[rule], strict=True):
        if node.has(position) != wanted:
            raise node.invalid(f"rule '{rule}' {'needs' if wanted else 'has no'} input {name}")
    query = _split(node, 0, [groups, heads // groups])
    key, value = _split(node, 1, [groups]), _split(node, 2, [groups])
    if query.shape[-1] != key.shape[-1] or query.shape[1] != key.shape[1] != value.shape[1]:
        raise node.invalid(f"query {query.shape}, key {key.shape} and value {value.shape} differ")
    decay = _split(node, 4, [groups]) if node.has(4) else None
    rate = None
    if node.has(5):
        rate = _split(node, 5, [groups if node.tensor(5).shape[-1] != 1 else 1])
    return _Inputs(query, key, value, decay, rate)


def _split(node: Node, position: int, heads: list[int]) -> Tensor:
    """Input [batch, steps, heads * size] in float32 with its heads as dimensions."""
    x = node.tensor(position)
    count = heads[0] * (heads[1] if len(heads) > 1 else 1)
    if x.rank != 3 or x.shape[2] % count:
        raise node.invalid(f"input {position} {x.shape} does not split into {count} heads")
    return cast(node.b, node.b.reshape(x, [*x.shape[:2], *heads, x.shape[2] // count]), "float32")


def _initial(node: Node, inputs: _Inputs) -> tuple[Tensor, str]:
    """The state before the first step, [batch, groups, key size, value size], and its dtype."""
    key, value = inputs.key.shape, inputs.value.shape
    shape = (key[0], key[2], key[3], value[3])
    if not node.has(3):
        return Tensor(node.b.fill(shape, "float32", 0), "float32"), node.tensor(0).dtype
    state = node.tensor(3)
    if state.shape != shape:
        raise node.invalid(f"the state has shape {state.shape}, expected {shape}")
    return cast(node.b, state, "float32"), state.dtype


def _at(node: Node, x: Tensor, step: int) -> Tensor:
    """`x[:, step]`."""
    starts, sizes = [0] * x.rank, list(x.shape)
    starts[1], sizes[1] = step, 1
    part = node.b.slice(x, starts, sizes, [1] * x.rank)
    return node.b.reshape(part, [x.shape[0], *x.shape[2:]])


def _update(node: Node, inputs: _Inputs, state: Tensor, step: int) -> Tensor:
    """The state after one more key and value."""
    b = node.b
    key, value = _at(node, inputs.key, step), _at(node, inputs.value, step)
    if inputs.decay is not None:
        gate = _at(node, inputs.decay, step)
        gate = b.reshape(gate, [*gate.shape, 1])
        state = b.map(lambda s, g: s * g.math("exp"), state, gate, dtype="float32")
    if inputs.rate is not None:
        known = b.einsum("bgkv,bgk->bgv", state, key, "float32")
        rate = _at(node, inputs.rate, step)
        value = b.map(lambda v, k, r: (v - k) * r, value, known, rate, dtype="float32")
    column = b.reshape(key, [*key.shape, 1])
    row = b.reshape(value, [*value.shape[:2], 1, value.shape[2]])

    def add(s: Scalar, k: Scalar, v: Scalar) -> Scalar:
        return s + k * v

    return b.map(add, state, column, row, dtype="float32")
