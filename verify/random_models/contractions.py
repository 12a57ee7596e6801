# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random models of matrix products and of attention."""

from __future__ import annotations

from math import prod

from verify.random_models.case import Case
from verify.random_models.maker import CaseMaker, Value

__all__ = ["attention", "contraction"]

_ROWS = (
    1,
    1,
    2,
    3,
    7,
    8,
    15,
    16,
    17,
    31,
    32,
    33,
    48,
    63,
    64,
    65,
    100,
    127,
    128,
    129,
    200,
    257,
    512,
)
_COLUMNS = (1, 3, 8, 16, 17, 24, 32, 40, 63, 64, 65, 72, 96, 100, 128, 130, 136, 192, 200, 256, 264,
            512, 1000)  # fmt: skip
_DEPTHS = (1, 2, 3, 7, 8, 15, 16, 17, 24, 32, 33, 48, 63, 64, 65, 72, 96, 100, 128, 130, 136, 192,
           256, 320, 513, 768, 1024, 2048)  # fmt: skip
_WORK = 1 << 25
"""Multiplications."""
_LARGE = (64, 96, 128, 136, 192, 200, 256, 264, 320, 512, 640)
_WARPGROUPS = "warpgroups"
_SCORES = 1 << 17
_BATCHES = ((), (), (), (1,), (2,), (3,), (5,), (2, 3))
_LENGTHS = (1, 2, 3, 7, 16, 17, 31, 33, 63, 64, 65, 77, 100, 127, 128, 129, 130, 197, 200, 256, 257,
            300, 333)  # fmt: skip
_HEAD_SIZES = (32, 40, 48, 64, 64, 64, 72, 80, 96, 128, 128, 160, 192, 256)
_KINDS = (("float32", "f32"), ("float32", "f32"), ("float32", "tf32"), ("float32", "tf32"),
          ("float16", "f32"), ("float16", "f32"), ("bfloat16", "f32"), ("bfloat16", "f32"),
          ("float16", "f32"), ("int8", "f32"))  # fmt: skip


def contraction(seed: int) -> Case:
    """A matrix product in any layout, with bias, activation and residual behind it."""
    m = CaseMaker("contraction", seed)
    dtype, m.precision = m.pick(*_KINDS)
    batch = list(m.pick(*_BATCHES))
    rows, columns, depth = m.pick(*_ROWS), m.pick(*_COLUMNS), m.pick(*_DEPTHS)
    m.prefer = m.pick(*[""] * 6, *[_WARPGROUPS] * 3, "threads")
    if m.prefer == _WARPGROUPS and m.chance(0.7):  # which take rows of whole 16 bytes alone
        rows, columns, depth = m.pick(*_ROWS, *_LARGE), m.pick(*_LARGE), m.pick(*_LARGE)
    if m.chance(0.03):
        rows, columns, depth = m.pick((0, columns, depth), (rows, 0, depth), (rows, columns, 0))
    while prod(batch) * rows * columns * depth > _WORK:
        rows, columns, depth = -(-rows // 2), -(-columns // 2), -(-depth // 2)
    sizes = f"{[*batch, rows, columns, depth]}"
    if dtype == "int8":
        return _integer(m, batch, rows, columns, depth, sizes)
    if not batch and depth and m.chance(0.15):
        y, how = _gemm(m, dtype, rows, columns, depth), "gemm"
    elif batch and depth and dtype != "bfloat16" and m.chance(0.4):  # which ONNX's Einsum lacks
        y, how = _einsum(m, dtype, batch, rows, columns, depth)
    else:
        y, how = _matmul(m, dtype, batch, rows, columns, depth), "matmul"
    outputs, behind = _epilogue(m, y)
    precision = m.precision if dtype == "float32" else ""
    return m.finish(*outputs, label=f"{how} {dtype}{precision} {sizes} {behind} {m.prefer}")


def _integer(
    m: CaseMaker, batch: list[int], rows: int, columns: int, depth: int, sizes: str
) -> Case:
    low, high = (-128, 128) if m.chance(0.7) else (0, 256)
    dtype = "int8" if low else "uint8"
    a = m.leaf(dtype, [*batch, rows, depth], low=low, high=high)
    b = m.leaf("int8", [depth, columns], m.pick("input", "weight"), low=-128, high=128)
    y = m.step("MatMulInteger", [a, b], [*batch, rows, columns], "int32")
    return m.finish(y, label=f"integers {dtype} {sizes}")


def _operand(m: CaseMaker, dtype: str, shape: list[int], role: str) -> Value:
    """A leaf, which may lie transposed, or be the sum of two."""
    if m.chance(0.3):
        order = list(range(len(shape)))
        order[-2:] = order[:-3:-1]
        if m.chance(0.3):
            m.random.shuffle(order)
        stored = m.leaf(dtype, [shape[order.index(d)] for d in range(len(shape))], role)
        return m.step("Transpose", [stored], shape, perm=order)
    x = m.leaf(dtype, shape, role)
    if role == "input" and m.chance(0.1):
        return m.step("Relu", [x], shape)
    return x


def _matmul(
    m: CaseMaker, dtype: str, batch: list[int], rows: int, columns: int, depth: int
) -> Value:
    left, right = list(batch), list(batch)
    if batch and m.chance(0.5):
        right = []
    elif batch and m.chance(0.2):
        left = [1] * len(left)
    a = _operand(m, dtype, [*left, rows, depth], "input")
    b = _operand(m, dtype, [*right, depth, columns], m.pick("input", "weight"))
    return m.step("MatMul", [a, b], [*batch, rows, columns])


def _gemm(m: CaseMaker, dtype: str, rows: int, columns: int, depth: int) -> Value:
    turned = m.pick(0, 1), m.pick(0, 1)
    a = m.leaf(dtype, [depth, rows] if turned[0] else [rows, depth])
    b = m.leaf(
        dtype, [columns, depth] if turned[1] else [depth, columns], m.pick("input", "weight")
    )
    operands = [a, b]
    if m.chance(0.7):
        operands.append(m.leaf(dtype, [columns], "weight"))
    scale = {"alpha": 0.5} if m.chance(0.2) else {}
    return m.step("Gemm", operands, [rows, columns], transA=turned[0], transB=turned[1], **scale)


def _einsum(
    m: CaseMaker, dtype: str, batch: list[int], rows: int, columns: int, depth: int
) -> tuple[Value, str]:
    names = "abc"[: len(batch)]
    sizes = dict(zip(names, batch, strict=True)) | {"m": rows, "n": columns, "k": depth}
    left, right, result = (list(names + rest) for rest in ("mk", "nk", "mn"))
    for letters in (left, right, result):
        m.random.shuffle(letters)
    equation = f"{''.join(left)},{''.join(right)}->{''.join(result)}"
    operands = [m.leaf(dtype, [sizes[c] for c in letters]) for letters in (left, right)]
    y = m.step("Einsum", operands, [sizes[c] for c in result], equation=equation)
    return y, equation


def _epilogue(m: CaseMaker, y: Value) -> tuple[list[Value], str]:
    words = []
    if m.chance(0.5):
        shape = m.pick(y.shape[-1:], y.shape[-1:], y.shape[-1:], [y.shape[-2], 1], [1])
        y = m.step("Add", [y, m.leaf(y.dtype, shape, m.pick("input", "weight"))], y.shape)
        words.append(f"bias{list(shape)}")
    if m.chance(0.2):
        y = m.step("Mul", [y, m.leaf(y.dtype, y.shape[-1:], "weight")], y.shape)
        words.append("scale")
    if m.chance(0.5):
        name = m.pick("Relu", "Gelu", "Tanh", "Sigmoid", "Swish")
        y = m.step(name, [y], y.shape)
        words.append(name)
    if m.chance(0.3):
        y = m.step("Add", [y, m.leaf(y.dtype, y.shape)], y.shape)
        words.append("residual")
    outputs = [y]
    if m.chance(0.15):
        dtype = m.pick(*(d for d in ("float32", "float16", "bfloat16") if d != y.dtype))
        outputs = [m.step("Cast", [y], y.shape, dtype, dtype=dtype)]
        if m.chance(0.5):
            outputs.append(y)
        words.append(f"to {dtype}")
    elif m.chance(0.1):
        order = list(range(len(y.shape)))
        m.random.shuffle(order)
        outputs = [m.step("Transpose", [y], [y.shape[d] for d in order], perm=order)]
        words.append("turned")
    elif y.shape[-1] > 1 and m.chance(0.1):
        outputs = _parts(m, y)
        words.append("split")
    return outputs, " ".join(words)


def _parts(m: CaseMaker, y: Value) -> list[Value]:
    """Columns for several readers, as queries, keys and values have them."""
    axis, first = len(y.shape) - 1, m.random.randint(1, y.shape[-1] - 1)
    edges = [(0, first), (first, y.shape[-1])]
    found = []
    for start, end in edges:
        shape = [*y.shape[:-1], end - start]
        limits = {"1": [start], "2": [end], "3": [axis], "4": [1]}
        part = m.step("Slice", [y], shape, constants=limits)
        bias = m.leaf(y.dtype, [end - start], "weight")
        found.append(m.step("Add", [part, bias], shape))
    return found


def attention(seed: int) -> Case:
    """Scaled dot-product attention: as the operator, or in single operators."""
    m = CaseMaker("attention", seed)
    dtype = m.pick("float32", "float16", "float16", "bfloat16")
    batch, heads, size = m.pick(1, 1, 2, 3), m.pick(1, 2, 3, 4, 6), m.pick(*_HEAD_SIZES)
    m.prefer = m.pick("", "", _WARPGROUPS)
    lengths = [n for n in _LENGTHS if n > 127] if m.prefer else _LENGTHS
    queries = m.pick(*lengths)
    keys = queries if m.chance(0.6) else m.pick(*lengths)
    while batch * heads * queries * keys > _SCORES:
        batch, heads, queries = max(batch - 1, 1), max(heads // 2, 1), max(queries - 37, 128)
    wide = size if m.chance(0.9) else m.pick(*_HEAD_SIZES)
    shared = m.pick(*(n for n in (1, 1, 1, 2, 3, heads) if heads % n == 0))
    m.special = m.special and m.chance(0.5)
    sizes = f"{dtype} b{batch} h{heads}/{heads // shared} q{queries} k{keys} d{size}/{wide}"
    y, how = (_operator if shared > 1 or m.chance(0.5) else _written)(
        m, dtype, (batch, heads, heads // shared), (queries, keys), (size, wide)
    )
    if m.chance(0.5):
        y = m.step("Transpose", [y], [batch, queries, heads, wide], perm=[0, 2, 1, 3])
        shape = [batch, queries, heads * wide]
        y = m.step("Reshape", [y], shape, constants={"1": shape})
    return m.finish(y, label=f"{how} {sizes} {m.prefer}")


def _heads(m: CaseMaker, dtype: str, shape: list[int]) -> Value:
    """[batch, heads, length, size]: as it is, or out of [batch, length, heads * size]."""
    batch, heads, length, size = shape
    if m.chance(0.5):
        return m.leaf(dtype, shape)
    flat = m.leaf(dtype, [batch, length, heads * size])
    split = [batch, length, heads, size]
    x = m.step("Reshape", [flat], split, constants={"1": split})
    return m.step("Transpose", [x], shape, perm=[0, 2, 1, 3])


def _mask(m: CaseMaker, dtype: str, scores: list[int]) -> tuple[Value | None, str]:
    """A mask that broadcasts to the scores: booleans, or numbers to be added."""
    choice = m.random.random()
    if choice < 0.4:
        return None, ""
    batch, heads, queries, keys = scores
    shape = [m.pick(1, batch), m.pick(1, 1, heads), m.pick(1, queries), keys]
    if choice < 0.7:
        return m.leaf("bool", shape, high=m.pick(50, 80, 95)), f"keep{shape}"
    return m.leaf(dtype, shape, special=0.0), f"bias{shape}"


def _operator(
    m: CaseMaker, dtype: str, heads: tuple[int, int, int], lengths: tuple[int, int],
    sizes: tuple[int, int],
) -> tuple[Value, str]:  # fmt: skip
    batch, count, groups = heads
    q = _heads(m, dtype, [batch, count, lengths[0], sizes[0]])
    k = _heads(m, dtype, [batch, groups, lengths[1], sizes[0]])
    v = _heads(m, dtype, [batch, groups, lengths[1], sizes[1]])
    mask, words = _mask(m, dtype, [batch, count, *lengths])
    operands = [q, k, v] + ([mask] if mask is not None else [])
    causal = int(m.chance(0.4))
    shape = [batch, count, lengths[0], sizes[1]]
    y = m.step("Attention", operands, shape, is_causal=causal)
    return y, f"operator{' causal' * causal} {words}"


def _written(
    m: CaseMaker, dtype: str, heads: tuple[int, int, int], lengths: tuple[int, int],
    sizes: tuple[int, int],
) -> tuple[Value, str]:  # fmt: skip
    batch, count, _ = heads
    q = _heads(m, dtype, [batch, count, lengths[0], sizes[0]])
    k = _heads(m, dtype, [batch, count, lengths[1], sizes[0]])
    v = _heads(m, dtype, [batch, count, lengths[1], sizes[1]])
    scores = [batch, count, *lengths]
    turned = m.step("Transpose", [k], [batch, count, sizes[0], lengths[1]], perm=[0, 1, 3, 2])
    x = m.step("MatMul", [q, turned], scores)
    scale = m.leaf(dtype, [1], "weight", scale=sizes[0] ** -0.5)
    x = m.step("Mul", [x, scale], scores)
    mask, words = _mask(m, dtype, scores)
    if mask is not None and mask.dtype == "bool":
        low = m.leaf(dtype, [1], "weight", scale=1e4)
        x = m.step(
            "Where", [mask, x, m.step("Neg", [m.step("Abs", [low], [1])], [1])], scores, dtype
        )
    elif mask is not None:
        x = m.step("Add", [x, mask], scores)
    x = m.step("Softmax", [x], scores, axis=-1)
    return m.step("MatMul", [x, v], [batch, count, lengths[0], sizes[1]]), f"written {words}"
