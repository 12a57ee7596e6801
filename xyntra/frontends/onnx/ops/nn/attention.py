# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scaled dot-product attention, as contraction, bias, softmax and contraction.

Scores of 16-bit inputs stay in float32 up to the probabilities. Grouped queries share their keys
through an own dimension, so that no key is repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from xyntra.dialects import named
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.slices import concatenate
from xyntra.frontends.onnx.inputs.interface import dtype_name
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast
from xyntra.frontends.onnx.ops.nn.attention_bias import Positions, attention_bias, masks_positions

_LOGITS, _CAPPED, _BIASED, _PROBABILITIES = range(4)


@dataclass(frozen=True)
class _Heads:
    """Queries, keys and values, and how their dimensions are named in contractions.

    Letters: b batch, g groups of heads that share keys, r heads of a group, q and k positions,
    d and e the sizes of a key and of a value.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    query_letters: str
    key_letters: str
    value_letters: str

    @property
    def scores(self) -> str:
        """Letters of the scores."""
        return "bgrqk" if "r" in self.query_letters else "bgqk"

    def size(self, letter: str) -> int:
        """The size of a dimension."""
        pairs = (
            (self.query, self.query_letters),
            (self.key, self.key_letters),
            (self.value, self.value_letters),
        )
        return next(t.shape[names.index(letter)] for t, names in pairs if letter in names)


@handles("Attention")
def attention(node: Node) -> list[Tensor | None]:
    b, dtype = node.b, node.tensor(0).dtype
    heads = _with_past(node, _heads(node))
    wide = accumulator_of(dtype)
    scale = node.attribute("scale")
    factor = 1 / sqrt(heads.size("d")) if scale is None else float(scale)
    equation = f"{heads.query_letters},{heads.key_letters}->{heads.scores}"
    logits = b.einsum(equation, heads.query, heads.key, wide)
    logits = b.map(lambda v: v * factor, logits, dtype=wide)
    capped = soft_cap(b, logits, float(node.attribute("softcap", 0.0)))
    biased, fully_masked = _add_bias(node, heads, capped)
    probabilities = _probabilities(node, biased, fully_masked)
    equation = f"{heads.scores},{heads.value_letters}->{heads.query_letters.replace('d', 'e')}"
    accumulator = "float64" if "float64" in (dtype, heads.value.dtype) else "float32"
    y = cast(b, b.einsum(equation, probabilities, heads.value, accumulator), dtype)
    y = b.reshape(y, _result_shape(node, heads))
    stages = {_LOGITS: logits, _CAPPED: capped, _BIASED: biased, _PROBABILITIES: probabilities}
    return [y, *_caches(node, heads), *_scores_output(node, heads, stages)]


def _heads(node: Node) -> _Heads:
    """The inputs with their heads as dimensions; inputs of three dimensions keep their layout."""
    query, key, value = (node.tensor(i) for i in range(3))
    if query.rank not in (3, 4) or key.rank != query.rank or value.rank != query.rank:
        raise node.invalid(f"inputs have shapes {query.shape}, {key.shape} and {value.shape}")
    flat = query.rank == 3
    if flat:
        heads = int(node.required("q_num_heads"))
        groups = int(node.required("kv_num_heads"))
    else:
        heads, groups = query.shape[1], key.shape[1]
    if groups < 1 or heads < 1 or heads % groups:
        raise node.invalid(f"{heads} query heads do not split into {groups} groups")
    shared = heads // groups
    if flat:
        query = _split(node, query, [groups, shared] if shared > 1 else [groups])
        key, value = _split(node, key, [groups]), _split(node, value, [groups])
        letters = ("bqgrd" if shared > 1 else "bqgd", "bkgd", "bkge")
    else:
        if shared > 1:
            query = node.b.reshape(query, [query.shape[0], groups, shared, *query.shape[2:]])
        letters = ("bgrqd" if shared > 1 else "bgqd", "bgkd", "bgke")
    result = _Heads(query, key, value, *letters)
    _check_sizes(node, result)
    return result


def _split(node: Node, x: Tensor, heads: list[int]) -> Tensor:
    """[batch, positions, heads * size] with its heads as dimensions."""
    count = 1
    for number in heads:
        count *= number
    if x.shape[2] % count:
        raise node.invalid(f"a hidden size of {x.shape[2]} does not split into {count} heads")
    return node.b.reshape(x, [*x.shape[:2], *heads, x.shape[2] // count])


def _check_sizes(node: Node, heads: _Heads) -> None:
    pairs = (
        (heads.query, heads.query_letters),
        (heads.key, heads.key_letters),
        (heads.value, heads.value_letters),
    )
    sizes: dict[str, int] = {}
    for tensor, letters in pairs:
        for letter, size in zip(letters, tensor.shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise node.invalid(f"sizes {sizes[letter]} and {size} do not agree")


def _with_past(node: Node, heads: _Heads) -> _Heads:
    """Keys and values with those of the cache before them, as [batch, groups, positions, size]."""
    if not node.has(4) and not node.has(5):
        return heads
    b = node.b
    key, value = _cache_layout(b, heads.key, heads.key_letters), None
    value = _cache_layout(b, heads.value, heads.value_letters)
    key = concatenate(b, [node.tensor(4), key], 2)
    value = concatenate(b, [node.tensor(5), value], 2)
    result = _Heads(heads.query, key, value, heads.query_letters, "bgkd", "bgke")
    _check_sizes(node, result)
    return result


def _cache_layout(b: TensorBuilder, x: Tensor, letters: str) -> Tensor:
    return b.transpose(x, [0, 2, 1, 3]) if letters.startswith("bk") else x


def soft_cap(b: TensorBuilder, logits: Tensor, cap: float) -> Tensor:
    """`cap * tanh(logits / cap)`; a cap of 0 stands for none."""
    if not cap:
        return logits
    return b.map(lambda v: (v / cap).math("tanh") * cap, logits, dtype=logits.dtype)


def _add_bias(node: Node, heads: _Heads, logits: Tensor) -> tuple[Tensor, Tensor | None]:
    """Biased logits, and where a row has nothing to attend to, or None if no row can be so."""
    b = node.b
    offset = node.tensor(4).shape[2] if node.has(4) else 0
    positions = Positions.of(node, heads.size("q"), heads.size("k"), offset)
    shared = heads.size("r") if "r" in heads.scores else None
    if not masks_positions(node):
        if not positions.causal:
            return logits, None

        def body(value: Scalar) -> Scalar:
            seen = positions.seen(b, len(heads.scores))
            return seen.select(value, float("-inf"))

        return b.map(body, logits, dtype=logits.dtype), None
    bias = attention_bias(node, positions, heads.size("g"), shared, logits.dtype)
    biased = b.map(lambda v, m: v + m, logits, bias, dtype=logits.dtype)
    return biased, b.reduce(bias, [bias.rank - 1], "max")


def _probabilities(node: Node, logits: Tensor, largest_bias: Tensor | None) -> Tensor:
    """The softmax of the logits, in the dtype of the query; rows that see nothing become zero."""
    b, dtype = node.b, node.tensor(0).dtype
    precision = node.attribute("softmax_precision")
    if precision is not None:
        logits = cast(b, logits, dtype_name(int(precision), f"node '{node.label}'"))
    result = cast(b, named.softmax(b, logits, logits.rank - 1), dtype)
    if largest_bias is None:
        return result

    def body(value: Scalar, bias: Scalar) -> Scalar:
        return bias.equals(float("-inf")).select(constant(0, dtype), value)

    return b.map(body, result, largest_bias, dtype=dtype)


def _result_shape(node: Node, heads: _Heads) -> list[int]:
    query, size = node.tensor(0), heads.size("e")
    if query.rank == 3:
        return [*query.shape[:2], int(node.required("q_num_heads")) * size]
    return [*query.shape[:3], size]


def _caches(node: Node, heads: _Heads) -> list[Tensor | None]:
    wanted = [
        position < len(node.proto.output) and bool(node.proto.output[position])
        for position in (1, 2)
    ]
    sources = ((heads.key, heads.key_letters), (heads.value, heads.value_letters))
    return [
        _cache_layout(node.b, tensor, letters) if want else None
        for want, (tensor, letters) in zip(wanted, sources, strict=True)
    ]


def _scores_output(node: Node, heads: _Heads, stages: dict[int, Tensor]) -> list[Tensor | None]:
    """The optional fourth output: the scores at a stage that an attribute names."""
    if len(node.proto.output) < 4:
        return []
    mode = int(node.attribute("qk_matmul_output_mode", _LOGITS))
    if mode not in stages:
        raise node.invalid(f"attribute 'qk_matmul_output_mode' is {mode}")
    scores = cast(node.b, stages[mode], node.tensor(0).dtype)
    shape = [scores.shape[0], heads.size("g") * (heads.size("r") if "r" in heads.scores else 1)]
    return [node.b.reshape(scores, [*shape, *scores.shape[-2:]])]
